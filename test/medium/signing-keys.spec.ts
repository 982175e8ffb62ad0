import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { SigningKeyRotation } from '../../src/signing-keys/signing-key-rotation.service';
import { EventsService } from '../../src/events/events.service';
import { SigningKeysRepository } from '../../src/signing-keys/signing-keys.repository';
import { SigningKeysService } from '../../src/signing-keys/signing-keys.service';
import { until } from '../support/until';
import { TestService } from '../support/service';
import { decode, forge, ownKey } from '../support/tokens';

/**
 * The longest token lifetime, the clock tolerance, and the time until every instance knows a key.
 */
const verifiesFor = 3_600 + 5 + 45;
const publishedBefore = 45;

describe('signing keys', () => {
  let service: TestService;
  let keys: SigningKeysService;
  let rotation: SigningKeyRotation;
  let intervals: jest.SpyInstance;
  beforeEach(async () => {
    intervals = jest.spyOn(globalThis, 'setInterval');
    service = await TestService.start();
    keys = service.app.get(SigningKeysService);
    rotation = service.app.get(SigningKeyRotation);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await service.close();
  });

  /** Ages all keys and then lets this instance rotate. */
  const pass = async (time: string) => {
    await service.rows(
      `update signing_keys set signs_from = signs_from - $1::interval, created_at = created_at - $1::interval`,
      [time],
    );
    await keys.reload();
  };
  const rows = () =>
    service.rows<{ kid: string; ahead: number; signs_in: number }>(
      `
        select
          kid, extract(epoch from signs_from - created_at)::float8 as ahead,
          extract(epoch from signs_from - now())::float8 as signs_in
        from signing_keys
        order by signs_from`,
    );
  const published = async (): Promise<string[]> =>
    (await service.get('/.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid);
  const works = async (token: string) => (await service.get('/user', { token })).status;
  const events = () =>
    service.rows<{ changes: object }>(
      `select changes from events where event_type = 'signing_key.rotated' order by event_id`,
    );
  const loads = () => jest.spyOn(service.app.get(SigningKeysRepository), 'list');
  /**
   * A token of the admin signed with the current key and valid for years, so that only the key
   * decides.
   */
  const lasting = () => {
    const { key, header } = ownKey(service);
    return forge(header, { ...decode(service.admin.token), exp: 4_000_000_000 }, key);
  };

  /**
   * Lets all instances rotate at once, each waiting for the lock before the first one adds a key.
   */
  const allAtOnce = async (count: number, act: () => Promise<unknown>) => {
    await service.rows(`
      create function hold() returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(1);
        return new;
      end $$;
      create trigger hold before insert on signing_keys for each row execute function hold()`);
    const waiting = `
      select 1
      from pg_locks
      where not granted and database = (select oid from pg_database where datname = current_database())`;
    const holder = await service.sql.connect();
    await holder.query('select pg_advisory_lock(1)');
    await service.rows(`update signing_keys set signs_from = signs_from - interval '29 days'`);
    const done = Promise.all(Array.from({ length: count }, act));
    try {
      await until(async () => (await service.rows(waiting)).length > count);
    } finally {
      await holder.query('select pg_advisory_unlock(1)');
      holder.release();
    }
    await done;
    await service.rows('drop function hold cascade');
  };

  it('publishes a key, signs, verifies, retires it from the JWKS and deletes it, each at its time', async () => {
    const first = keys.signingKey().kid;
    const old = lasting();
    await pass('28 days 23:59:50');
    expect(await published()).toEqual([first]);
    await pass('20 s');
    const [second] = (await published()).filter((kid) => kid !== first);
    expect(await rows()).toEqual([
      { kid: first, ahead: 0, signs_in: expect.any(Number) },
      { kid: second, ahead: 86_400, signs_in: expect.any(Number) },
    ]);
    expect(keys.signingKey().kid).toBe(first);
    await pass('23:59:30');
    expect([keys.signingKey().kid, (await published()).length]).toEqual([first, 2]);
    await pass('40 s');
    expect(keys.signingKey().kid).toBe(second);
    expect([await works(old), await works(lasting())]).toEqual([200, 200]);
    await pass(`${verifiesFor - 30} s`);
    expect([await works(old), (await published()).length]).toEqual([200, 2]);
    await pass('30 s');
    expect([await works(old), await works(lasting()), await published()]).toEqual([401, 200, [second]]);
    expect(await rows()).toHaveLength(2);
    await pass('30 days');
    expect((await rows()).map(({ kid }) => kid)).toEqual([second, expect.any(String)]);
    expect((await events()).slice(0, 1)).toEqual([
      { changes: { kid: { before: first, after: second }, signs_from: { after: expect.any(String) } } },
    ]);
  });

  it('always has a published key to sign with, even after months without a rotation', async () => {
    const first = keys.signingKey().kid;
    await pass('200 days');
    // The successor is late and still signs only after its publication.
    expect([keys.signingKey().kid, (await rows()).map(({ ahead }) => ahead)]).toEqual([first, [0, 86_400]]);
    await pass('200 days');
    const [second, third, ...more] = await rows();
    expect([keys.signingKey().kid, third?.ahead, more]).toEqual([second?.kid, 86_400, []]);
    expect(await published()).toEqual([third?.kid, second?.kid]);
    expect(await works((await service.login('administrator')).token)).toBe(200);
  });

  it('creates a key at once for an empty table', async () => {
    await service.rows('delete from signing_keys');
    await keys.reload();
    expect(await published()).toEqual([keys.signingKey().kid]);
  });

  it('creates one successor, with one event, when five instances rotate at once', async () => {
    await allAtOnce(5, () => rotation.rotateIfDue());
    expect([(await rows()).length, (await events()).length]).toEqual([2, 1]);
    const results = await Promise.all(Array.from({ length: 5 }, () => rotation.rotate({ now: true })));
    expect(results.map(({ done }) => done).sort()).toEqual(['advanced', 'none', 'none', 'none', 'none']);
    expect([(await rows()).length, (await events()).length]).toEqual([2, 2]);
  });

  it('rotates by command in a day, or at once after publication, but never before', async () => {
    const made = await rotation.rotate({});
    expect([made.done, (await rows()).map(({ ahead }) => ahead)]).toEqual(['created', [0, 86_400]]);
    expect(await rotation.rotate({})).toEqual({ ...made, done: 'none' });
    const advanced = await rotation.rotate({ now: true });
    expect([advanced.done, advanced.kid]).toEqual(['advanced', made.kid]);
    expect(await rotation.rotate({ now: true })).toEqual({ ...advanced, done: 'none' });
    for (const { ahead } of (await rows()).slice(1)) expect(ahead).toBeGreaterThanOrEqual(publishedBefore);
    await pass('1 minute');
    expect(keys.signingKey().kid).toBe(made.kid);
    const next = await rotation.rotate({ now: true });
    expect([next.done, (await rows()).at(-1)?.ahead]).toEqual(['created', publishedBefore]);
  });

  it('revokes all other keys, including the planned successor, and signs with the new one', async () => {
    const old = lasting();
    await rotation.rotate({});
    const { kid, revoked } = await rotation.rotate({ revoke: true });
    await keys.reload();
    expect([revoked, await published(), keys.signingKey().kid]).toEqual([2, [kid], kid]);
    expect([await works(old), await works(service.admin.token)]).toEqual([401, 401]);
    const refreshed = await service.post('/auth/check-token', { body: { refresh_token: service.admin.refresh_token } });
    expect(await works(refreshed.body.access_token)).toBe(200);
    expect((await events()).at(-1)?.changes).toMatchObject({ kid: { after: kid }, revoked: { after: 2 } });
  });

  it('starts to sign with a key at its time, without another load', async () => {
    const { kid } = await rotation.rotate({});
    await service.rows(`update signing_keys set signs_from = now() + interval '1 s' where kid = $1`, [kid]);
    await keys.reload();
    const list = loads();
    expect(keys.signingKey().kid).not.toBe(kid);
    for (const until = performance.now() + 5_000; keys.signingKey().kid !== kid && performance.now() < until;)
      await works(service.admin.token);
    expect([keys.signingKey().kid, list.mock.calls.length]).toEqual([kid, 0]);
  });

  it('notifies listeners of a committed rotation only', async () => {
    const client = new Client({ connectionString: service.config.DATABASE_URL });
    await client.connect();
    const heard: string[] = [];
    client.on('notification', ({ channel }) => heard.push(channel));
    await client.query('listen signing_keys_changed');
    jest.spyOn(service.app.get(EventsService), 'record').mockRejectedValueOnce(new Error('broken'));
    await expect(rotation.rotate({ now: true })).rejects.toThrow('broken');
    await client.query('select 1');
    expect([heard, await rows(), await events()]).toEqual([[], [expect.anything()], []]);
    await rotation.rotate({ now: true });
    await client.query('select 1');
    await client.end();
    expect(heard).toEqual(['signing_keys_changed']);
  });

  it('shares one load among callers, but never a load that began before the call', async () => {
    const list = loads();
    const early = keys.reload();
    const { kid } = await rotation.rotate({});
    list.mockClear();
    const before = keys.reload();
    await Promise.all([early, before, ...Array.from({ length: 20 }, () => keys.reload())]);
    // One load for the first callers, one for all callers during it, and one for the notification.
    expect(list.mock.calls.length).toBeLessThanOrEqual(3);
    expect(await published()).toContain(kid);
    // A running load that has already read the keys.
    const [hasRead, mayGoOn] = [signal(), signal()];
    const real = SigningKeysRepository.prototype.list.bind(service.app.get(SigningKeysRepository));
    list.mockImplementationOnce(async () => {
      const read = await real();
      hasRead.give();
      await mayGoOn.given;
      return read;
    });
    const stale = keys.reload();
    await hasRead.given;
    const revoked = await rotation.rotate({ revoke: true });
    const fresh = keys.reload();
    mayGoOn.give();
    await stale;
    expect(await published()).not.toEqual([revoked.kid]);
    await fresh;
    expect(await published()).toEqual([revoked.kid]);
  });

  it('increases the version when keys are added or removed, and only then', async () => {
    const start = keys.version;
    await keys.reload();
    expect(keys.version).toBe(start);
    await rotation.rotate({});
    await keys.reload();
    expect(keys.version).toBe(start + 1);
    await rotation.rotate({ now: true });
    await keys.reload();
    expect(keys.version).toBe(start + 1);
    await rotation.rotate({ revoke: true });
    await keys.reload();
    expect(keys.version).toBe(start + 2);
  });

  it('logs a scheduled load that fails, and continues', async () => {
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const ticks = intervals.mock.calls.flatMap(([tick, ms], index) =>
      ms === 30_000 ? [{ tick: tick as () => void, index }] : [],
    );
    const own = ticks.filter(({ tick }) => String(tick).includes('tryReload'));
    expect(own).toHaveLength(1);
    expect((intervals.mock.results[own[0]!.index]!.value as NodeJS.Timeout).hasRef()).toBe(false);
    const list = loads().mockRejectedValueOnce(new Error('no database'));
    own[0]!.tick();
    await keys.reload();
    expect(list).toHaveBeenCalledTimes(2);
    expect(errors).toHaveBeenCalledWith(expect.stringContaining('no database'));
    expect(await works(service.admin.token)).toBe(200);
  });
});

function signal(): { given: Promise<void>; give: () => void } {
  let give = () => undefined as void;
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give };
}
