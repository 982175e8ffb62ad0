import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/cluster';
import { until } from '../support/until';
import { addManyUsers } from '../support/many-users';
import type { ServiceProcess } from '../support/service-process';

jest.setTimeout(900_000);

/** Number of kills, spread over four operations. A longer run sets KILLS. */
const kills = Number(process.env['KILLS'] ?? 4);
/** Many batches, so that most kills interrupt work. */
const many = 12_000;
/** Just enough for an operation instead of a single request. */
const few = 10_001;
/** Longer than a batch, so that a kill hits before, within and after a transaction. */
const killWithinMs = 900;

/** The progress of an operation, as stored. */
interface Progress {
  status: string;
  total: number;
  processed: number;
  changed: number;
  unchanged: number;
  skipped_count: number;
  finished_at: Date | null;
}

describe('operations whose process is killed', () => {
  const log = join(mkdtempSync(join(tmpdir(), 'carrier-identity-kills-')), 'kills.log');
  const resumed: number[] = [];
  let killed = 0;
  let cluster: Cluster;
  let instance: ServiceProcess;
  let token: string;
  beforeAll(async () => {
    cluster = await Cluster.create();
    instance = await start('one');
    token = await cluster.login(instance);
    await addManyUsers(cluster, many, 'many');
    await cluster.rows(`
      insert into sessions (
        session_id, user_id, user_type, carrier_id, refresh_token_hash,
        refreshed_at, expires_at, absolute_expires_at
      )
      select
        gen_random_uuid(), user_id, user_type, carrier_id, '',
        now(), now() + interval '1 day', now() + interval '1 day'
      from users
      where name like 'many-%7'`);
  });
  afterAll(() => cluster.close());

  /** Starts an instance whose database connections have a name, without waiting for it. */
  const spawn = (name: string) => cluster.spawn({ DATABASE_URL: `${cluster.databaseUrl}?application_name=${name}` });
  const start = async (name: string) => {
    const started = await spawn(name);
    await started.ready();
    return started;
  };
  const ms = (time = 0) => `${Math.round(time)} ms`;
  const note = (line: string) => appendFileSync(log, `${line}\n`);
  const progressOf = async (operation_id: string) =>
    (await cluster.rows<Progress>('select * from operations where operation_id = $1', [operation_id]))[0] as Progress;
  const one = async <Row>(text: string, values: unknown[] = []) => (await cluster.rows<Row>(text, values))[0] as Row;
  /** Returns a digest of everything that an undo restores. */
  const contents = () =>
    one(`
      select md5(string_agg(restored::text, ';' order by user_id))
      from (
        select
          user_id, status, roles, locale, timezone, attributes, allowed_ips, must_change_password, deleted_at
        from users
        where carrier_id = 'many'
      ) restored`);

  /** Returns whether the operation continued. After the last batch, only its end remains. */
  const wentOn = async (operation_id: string, at: Progress) => {
    const { processed, finished_at } = await progressOf(operation_id);
    return processed > at.processed || finished_at !== null;
  };

  /** Kills the process at a random moment and starts another one, which must continue by itself. */
  async function killAndRestart(operation_id: string, kind: string): Promise<void> {
    await delay(Math.random() * killWithinMs);
    await instance.kill();
    const at = await progressOf(operation_id);
    const since = performance.now();
    instance = await spawn('one');
    const ready = instance.ready().then(
      () => `ready after ${ms(performance.now() - since)}`,
      () => 'never ready',
    );
    if (at.finished_at === null) {
      await until(() => wentOn(operation_id, at), 60_000);
      resumed.push(performance.now() - since);
    }
    killed++;
    const went =
      at.finished_at === null ? `went on ${ms(resumed.at(-1))} after the restart, ${await ready}` : 'had ended';
    note(`kill ${killed}: ${kind} ${at.status} at ${at.processed} of ${at.total}, ${went}`);
  }

  /**
   * Kills the process repeatedly until the operation ends, and checks that each user was processed
   * exactly once.
   */
  async function survive(kind: string, operation_id: string, event_type: string, killsWanted: number): Promise<void> {
    while (resumed.length < killsWanted && (await progressOf(operation_id)).finished_at === null)
      await killAndRestart(operation_id, kind);
    await until(async () => (await progressOf(operation_id)).finished_at !== null, 60_000);
    const { status, total, processed, changed, unchanged, skipped_count } = await progressOf(operation_id);
    expect({ status, total, processed, changed, unchanged, skipped_count }).toEqual({
      ...{ status: 'done', total: many, processed: many, changed: many, unchanged: 0, skipped_count: 0 },
    });
    expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);
    const events = await one(
      `
        select
          count(*)::integer as events, count(distinct target_id)::integer as users,
          count(*) filter (where target_version = users.version)::integer as newest
        from events
        join users on user_id = target_id
        where operation_id = $1 and event_type = $2`,
      [operation_id, event_type],
    );
    expect(events).toEqual({ events: many, users: many, newest: many });
    await instance.ready();
  }

  it('processes every user exactly once, in changes, deletions and their undo (F1, F2)', async () => {
    const before = await contents();
    const send = async (method: string, path: string, body?: unknown) => {
      const answer = await instance.send(method, path, { token, body });
      expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
      return answer.body.operation_id as string;
    };
    const versions = () =>
      one<{ least: number; most: number }>(
        `select min(version) as least, max(version) as most from users where carrier_id = 'many'`,
      );
    const first = (await versions()).most;
    let round = 0;
    let version = first;
    while (resumed.length < kills) {
      // With few kills, one round of the four operations contains them all.
      const share = (operation: number) => Math.ceil((kills * operation) / 4);
      const goal = (operation: number) => (round === 0 ? share(operation) : kills);
      const changed = await send('PATCH', '/user/all?carrier_id=many', {
        locale: 'fr',
        attributes: { number: null, round },
      });
      await survive('change', changed, 'user.changed', goal(1));
      expect(await versions()).toEqual({ least: ++version, most: version });
      expect(await cluster.rows(`select distinct locale, attributes from users where carrier_id = 'many'`)).toEqual([
        { locale: 'fr', attributes: { round } },
      ]);
      await survive(
        'undo of the change',
        await send('POST', `/user/operation/${changed}/undo`),
        'user.changed',
        goal(2),
      );
      expect(await versions()).toEqual({ least: ++version, most: version });
      expect(await contents()).toEqual(before);

      const deleted = await send('DELETE', '/user/all?carrier_id=many');
      await survive('deletion', deleted, 'user.deleted', goal(3));
      expect(await versions()).toEqual({ least: ++version, most: version });
      await survive(
        'undo of the deletion',
        await send('POST', `/user/operation/${deleted}/undo`),
        'user.restored',
        goal(4),
      );
      expect(await versions()).toEqual({ least: ++version, most: version });
      expect(await contents()).toEqual(before);
      round++;
    }
    const sessions = await one(
      `
        select count(*)::integer as ended, count(distinct target_id)::integer as sessions
        from events
        where event_type = 'session.ended'`,
    );
    expect(sessions).toEqual({ ended: many / 10, sessions: many / 10 });
    const sorted = [...resumed].sort((a, b) => a - b);
    note(
      `${killed} kills, ${resumed.length} during work; the next process continued after ` +
        `${ms(sorted[0])} to ${ms(sorted.at(-1))}, median ${ms(sorted[sorted.length >> 1])}`,
    );
    process.stdout.write(`kills: ${log}\n`);
  });

  it('continues on the other instance after a kill, and on a replacement if no instance is left (F13)', async () => {
    const work = `
      select application_name as name
      from pg_stat_activity
      where datname = current_database()
        and pid <> pg_backend_pid()
        and state <> 'idle'
        and query like '%-- found:%'`;
    await addManyUsers(cluster, few, 'few');
    const pair = new Map([
      ['one', instance],
      ['two', await start('two')],
    ]);
    const someone = () => [...pair.values()][0] as ServiceProcess;
    for (const [locale, replaced] of [
      ['nl', false],
      ['sv', true],
    ] as const) {
      const { body } = await someone().send('PATCH', '/user/all?carrier_id=few', { token, body: { locale } });
      let worker = '';
      await until(async () => (worker = (await cluster.rows<{ name: string }>(work))[0]?.name ?? '') !== '');
      await pair.get(worker)?.kill();
      pair.delete(worker);
      const at = await progressOf(body.operation_id);
      const since = performance.now();
      if (replaced) pair.set(worker, await start(worker));
      await until(() => wentOn(body.operation_id, at), 60_000);
      note(
        `kill of ${worker} at ${at.processed} of ${at.total}: ` +
          `${replaced ? 'its replacement' : 'the other'} continued after ${ms(performance.now() - since)}`,
      );
      await until(async () => (await progressOf(body.operation_id)).finished_at !== null, 60_000);
      expect(await progressOf(body.operation_id)).toMatchObject({ status: 'done', processed: few, changed: few });
      const events = await one(
        `
          select count(*)::integer as events, count(distinct target_id)::integer as users
          from events
          where operation_id = $1 and target_type = $2`,
        [body.operation_id, 'user'],
      );
      expect(events).toEqual({ events: few, users: few });
    }
  });
});
