import { createLocalJWKSet, jwtVerify } from 'jose';
import { Client } from 'pg';
import type { SigningKeyRotation } from '../../src/auth/signing-keys/signing-key-rotation.service';
import type { SigningKeysService } from '../../src/auth/signing-keys/signing-keys.service';
import { advisoryLocks } from '../../src/platform/advisory-locks';
import { runBuilt } from '../support/process/built-program';
import { adminEmail, appSecret, password, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { decode, forge, ownKey } from '../support/logins/tokens';
import { until } from '../support/until';

const newSecret = 'another-secret-9876543210-zyxwvutsrqp';
/** The longest token lifetime, the clock tolerance, and the time until all instances know a key. */
const verifiesForSeconds = 3_600 + 5 + 45;
const publishedBeforeSeconds = 45;

const kidOf = (token: string) => decode(token, 0)['kid'] as string;

type Instance = Pick<ServiceProcess, 'get' | 'post'>;

describe('signing keys', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ APP_SECRET_PREVIOUS: newSecret, SESSIONS_PER_USER_MAX: '1000' });
  });
  afterAll(() => service.close());

  const works = async (token: string, on: Instance = service) => (await on.get('/user', { token })).status;
  const refresh = (refresh_token: string, on: Instance = service, token?: string) =>
    on.post('/auth/check-token', { ...(token && { token }), body: { refresh_token } });
  const published = async (on: Instance = service): Promise<string[]> =>
    (await on.get('/.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid);

  describe('on one instance', () => {
    let keys: ReturnType<typeof service.inside<SigningKeysService>>;
    let rotation: ReturnType<typeof service.inside<SigningKeyRotation>>;
    let refresh_token: string;
    beforeAll(() => {
      keys = service.inside('SigningKeysService');
      rotation = service.inside('SigningKeyRotation');
      ({ refresh_token } = service.admin);
    });
    /** Each test begins with one new key, which the service creates at once for an empty table. */
    beforeEach(async () => {
      await service.rows('delete from signing_keys');
      await keys.reload();
    });

    /** Ages all keys and then lets the instance rotate. */
    const pass = async (time: string) => {
      await service.rows(
        `update signing_keys set signs_from = signs_from - $1::interval, created_at = created_at - $1::interval`,
        [time],
      );
      await keys.reload();
    };
    const rows = () =>
      service.rows<{ kid: string; ahead: number }>(`
        select kid, extract(epoch from signs_from - created_at)::float8 as ahead
        from signing_keys
        order by signs_from`);
    const ahead = async () => (await rows()).map((row) => row.ahead);
    /** Returns the id of the key that signs. */
    const signing = async () => {
      const { body } = await refresh(refresh_token);
      refresh_token = body.refresh_token as string;
      return kidOf(body.access_token);
    };
    const eventsAfter = (kid: string) =>
      service.rows<{ changes: object }>(
        `select changes from events where event_type = 'signing_key.rotated' and changes->'kid'->>'before' = $1`,
        [kid],
      );
    /** A token of the current key that is valid for years, so that only the key decides. */
    const lasting = async () => {
      const { key, header } = await ownKey(service);
      return forge(header, { ...decode(service.admin.token), exp: 4_000_000_000 }, key);
    };

    it('publishes, uses, retires and deletes a key, each at its time (J20)', async () => {
      const [first = ''] = await published();
      const [own, old] = [await ownKey(service), await lasting()];
      await pass('28 days 23:58');
      expect(await published()).toEqual([first]);
      await pass('4 minutes');
      const [second = ''] = (await published()).filter((kid) => kid !== first);
      expect(await rows()).toEqual([
        { kid: first, ahead: 0 },
        { kid: second, ahead: 86_400 },
      ]);
      await pass('23:56');
      expect([await signing(), (await published()).length]).toEqual([first, 2]);
      await pass('8 minutes');
      expect([await signing(), await works(old), await works(await lasting())]).toEqual([second, 200, 200]);
      // Modules verify the tokens of both keys by the published set.
      const keySet = createLocalJWKSet((await service.get('/.well-known/jwks.json')).body);
      for (const token of [old, await lasting()])
        expect((await jwtVerify(token, keySet)).payload.sub).toBe(service.admin.user_id);
      // Each key is valid only under its own id.
      const { key, header } = await ownKey(service);
      for (const token of [forge(own.header, decode(old), key), forge(header, decode(old), own.key)])
        expect(await works(token)).toBe(401);
      await pass(`${verifiesForSeconds - 600} s`);
      expect([await works(old), (await published()).length]).toEqual([200, 2]);
      await pass('10 minutes');
      expect([await works(old), await works(await lasting()), await published()]).toEqual([401, 200, [second]]);
      expect(await rows()).toHaveLength(2);
      // An idle client may send its last access token beside its refresh token.
      const idle = await refresh(refresh_token, service, old);
      expect(idle.status).toBe(200);
      ({ refresh_token } = idle.body);
      await pass('30 days');
      expect((await rows()).map(({ kid }) => kid)).toEqual([second, expect.any(String)]);
      expect((await refresh(refresh_token, service, old)).status).toBe(401);
      expect(await eventsAfter(first)).toEqual([
        { changes: { kid: { before: first, after: second }, signs_from: { after: expect.any(String) } } },
      ]);
    });

    it('always has a published key to sign with, even after months without a rotation', async () => {
      const [first] = await published();
      await pass('200 days');
      // The successor is late and still signs only after its publication.
      expect([await signing(), await ahead()]).toEqual([first, [0, 86_400]]);
      await pass('200 days');
      const [second, third, ...more] = await rows();
      expect([await signing(), third?.ahead, more]).toEqual([second?.kid, 86_400, []]);
      expect(await published()).toEqual([third?.kid, second?.kid]);
    });

    it('creates one successor, with one event, when five instances rotate at once (J20)', async () => {
      const [first = ''] = await published();
      const waiting = `
        select 1
        from pg_locks
        where not granted and locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())`;
      const holder = await service.sql.connect();
      await holder.query('select pg_advisory_lock($1)', [advisoryLocks.signingKeys]);
      // The instance is notified of this change and is the first to wait.
      await service.rows(`update signing_keys set signs_from = signs_from - interval '29 days'`);
      const done = Promise.all(Array.from({ length: 5 }, () => rotation.rotateIfDue()));
      await until(async () => (await service.rows(waiting)).length > 5);
      await holder.query('select pg_advisory_unlock($1)', [advisoryLocks.signingKeys]);
      holder.release();
      await done;
      expect([(await rows()).length, (await eventsAfter(first)).length]).toEqual([2, 1]);
      const results = await Promise.all(Array.from({ length: 5 }, () => rotation.rotate({ now: true })));
      expect(results.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(results.map(({ kid }) => kid)).size).toBe(1);
      expect([(await rows()).length, (await eventsAfter(first)).length]).toEqual([3, 2]);
    });

    it('rotates by command in a day, or at once after publication, but never before', async () => {
      const made = await rotation.rotate({});
      expect([made.created, await ahead()]).toEqual([true, [0, 86_400]]);
      expect(await rotation.rotate({})).toEqual({ ...made, created: false });
      const sooner = await rotation.rotate({ now: true });
      expect([sooner.created, await ahead()]).toEqual([true, [0, publishedBeforeSeconds, 86_400]]);
      expect(await rotation.rotate({ now: true })).toEqual({ ...sooner, created: false });
      await pass('1 minute');
      expect(await signing()).toBe(sooner.kid);
      await pass('1 day');
      expect(await signing()).toBe(made.kid);
    });

    it('notifies listeners of a committed rotation only', async () => {
      const listener = new Client({ connectionString: service.config.DATABASE_URL });
      await listener.connect();
      const heard: string[] = [];
      listener.on('notification', ({ channel }) => heard.push(channel));
      await listener.query('listen signing_keys_changed');
      await service.rows(`
        create function refuse() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$;
        create trigger refuse before insert on events for each row execute function refuse()`);
      await expect(rotation.rotate({ now: true })).rejects.toThrow('broken');
      await service.rows('drop function refuse cascade');
      await listener.query('select 1');
      expect([heard, await ahead()]).toEqual([[], [0]]);
      await rotation.rotate({ now: true });
      await listener.query('select 1');
      await listener.end();
      expect(heard).toEqual(['signing_keys_changed']);
    });

    it('logs a load that fails, and continues with the keys in memory', async () => {
      const token = await lasting();
      await service.rows('alter table signing_keys rename to moved');
      await keys.reload();
      expect(service.output).toContain('signing keys: could not load: ');
      expect(await works(token)).toBe(200);
      await service.rows('alter table moved rename to signing_keys');
    });
  });

  /** Two further instances on the database: during and after a change of APP_SECRET. */
  describe('on several instances', () => {
    /** knows both secrets; the first instance does too, but encrypts with the old secret */
    let changing: ServiceProcess;
    /** knows only the new secret */
    let changed: ServiceProcess;
    let sealed: string;
    beforeAll(async () => {
      sealed = await stored();
      changing = await ServiceProcess.beside(service, { APP_SECRET: newSecret, APP_SECRET_PREVIOUS: appSecret });
      changed = await ServiceProcess.beside(service, { APP_SECRET: newSecret, APP_SECRET_PREVIOUS: '' });
    });
    afterAll(() => Promise.all([changing.kill(), changed.kill()]));

    const stored = async () =>
      (await service.rows<{ hex: string }>(`select encode(private_key, 'hex') as hex from signing_keys`))[0]!.hex;
    const login = async (on: Instance) =>
      (await on.post('/auth/login', { body: { login: adminEmail, password } })).body as Record<
        'access_token' | 'refresh_token',
        string
      >;
    const cli = (...args: string[]) =>
      runBuilt('src/cli/cli.js', { DATABASE_URL: service.config.DATABASE_URL, APP_SECRET: newSecret }, args);

    it('keeps sessions and tokens over a change of APP_SECRET, and opens nothing with the old one (J13)', async () => {
      expect(await stored()).not.toBe(sealed);
      const [first, kept] = [await login(service), await login(service)];
      const r1 = (await refresh(first.refresh_token)).body;
      expect(await works(first.access_token, changing)).toBe(200);
      // Within the grace period the predecessor still gets the successor from the old secret.
      await service.rows('update sessions set refreshed_at = now()');
      expect((await refresh(first.refresh_token, changing)).body.refresh_token).toBe(r1.refresh_token);
      const r2 = (await refresh(r1.refresh_token, changing)).body;
      const keptOn = (await refresh(kept.refresh_token, changing)).body;
      // Reuse is still detected.
      await service.rows(`update sessions set refreshed_at = now() - interval '1 hour'`);
      expect((await refresh(first.refresh_token, changing)).status).toBe(401);
      expect((await refresh(r2.refresh_token, changing)).status).toBe(401);

      expect(await works(kept.access_token, changed)).toBe(200);
      expect((await refresh(keptOn.refresh_token, changed)).status).toBe(200);
      expect((await refresh(kept.refresh_token, changed)).status).toBe(401);
      const secrets = { APP_SECRET: [...newSecret].reverse().join(''), APP_SECRET_PREVIOUS: appSecret };
      const refusing = new ServiceProcess({ DATABASE_URL: service.config.DATABASE_URL, ...secrets });
      expect(await refusing.exit).toBe(1);
      const message = 'APP_SECRET: differs from the secret that encrypted the signing key in this database';
      expect(refusing.output).toContain(message);
    });

    it('gives tabs on instances with different secrets the same successor (S9)', async () => {
      const ended = () => service.rows('select session_id from sessions where ended_at is not null');
      const before = await ended();
      let { refresh_token } = await login(service);
      for (let round = 0; round < 2; round++) {
        const answers = await Promise.all(
          Array.from({ length: 6 }, (_, index) =>
            refresh(refresh_token, (index + round) % 2 === 0 ? service : changing),
          ),
        );
        expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
        expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
        refresh_token = answers[0]!.body.refresh_token as string;
      }
      // An instance that cannot decrypt the stored successor rejects the token and ends nothing.
      const [{ refresh_token: ofOld }, { refresh_token: ofNew }] = [await login(service), await login(changing)];
      const successor = (await refresh(ofNew)).body.refresh_token as string;
      expect([(await refresh(ofOld, changed)).status, (await refresh(ofNew, changed)).status]).toEqual([401, 401]);
      expect((await refresh(ofNew, changing)).body.refresh_token).toBe(successor);
      expect((await refresh(ofOld, changing)).status).toBe(200);
      expect(await ended()).toEqual(before);
    });

    it('rejects no valid token during a rotation under load (J20, F33)', async () => {
      const old = (await login(service)).access_token;
      const kids = new Set([kidOf(old)]);
      const refused: string[] = [];
      let asked = 0;
      let done = false;
      const work = async (here: Instance, there: Instance) => {
        let { refresh_token } = await login(here);
        while (!done) {
          const { status, text, body } = await refresh(refresh_token, here);
          if (status !== 200) return void refused.push(`refresh ${status} ${text}`);
          refresh_token = body.refresh_token as string;
          kids.add(kidOf(body.access_token));
          // A new token works on the other instance immediately, and the oldest one on both.
          const statuses = await Promise.all([works(body.access_token, there), works(old, here), works(old, there)]);
          asked += statuses.push(status);
          if (statuses.some((each) => each !== 200)) refused.push(`${kidOf(body.access_token)}: ${statuses.join()}`);
        }
      };
      const load = Promise.all([work(service, changing), work(changing, service)]);
      const { kid: after } = await changing.inside<SigningKeyRotation>('SigningKeyRotation').rotate({ now: true });
      await until(async () => (await published()).includes(after) && (await published(changing)).includes(after));
      // The key would sign 45 s after its creation. All instances are notified of the new time.
      await service.rows(`update signing_keys set signs_from = now() + interval '1 s' where kid = $1`, [after]);
      await until(() => kids.has(after) || refused.length > 0);
      const before = asked;
      await until(() => asked > before + 40 || refused.length > 0);
      done = true;
      await load;
      expect([refused, kids]).toEqual([[], new Set([kidOf(old), after])]);
      expect(changing.output).not.toMatch(/"level":"(error|fatal)"/);
    });

    it('rejects all tokens of a stolen key after --revoke, and keeps sessions (J20)', async () => {
      const instances = [service, changing];
      const { access_token, refresh_token } = await login(service);
      for (const instance of instances) expect(await works(access_token, instance)).toBe(200);
      const scheduled = expect.stringMatching(/^The new key \S{43} signs from \S+Z on\. Existing tokens stay valid/);
      expect(await cli('rotate-keys')).toEqual({ code: 0, stdout: scheduled, stderr: '' });
      expect((await cli('rotate-keys', '--now', '--revoke')).stdout).toMatch(
        /^The new key \S{43} signs\. \d other keys are revoked/,
      );
      for (const instance of instances) await until(async () => (await works(access_token, instance)) === 401);
      // A token of a revoked key proves nothing, so the refresh token must be sent alone.
      expect((await refresh(refresh_token, service, access_token)).status).toBe(401);
      const refreshed = (await refresh(refresh_token)).body;
      for (const instance of instances) {
        expect(await works(refreshed.access_token, instance)).toBe(200);
        expect(await published(instance)).toEqual([kidOf(refreshed.access_token)]);
      }
    });

    it('names the commands, and ends with status 2 for unknown arguments', async () => {
      const refused = await Promise.all([cli(), cli('rotate-keys', '--nwo')]);
      const message = expect.stringMatching(/^(Usage: [^]*\n {2}admin-recover [^]*\n {2}rotate-keys|.* '--nwo')/);
      expect(refused).toEqual(Array(2).fill({ code: 2, stdout: '', stderr: message }));
    });
  });
});
