import { Cluster } from '../support/cluster';
import { addLogins, rotated } from '../support/made-logins';
import { type Revocation, revocations, type Scene, type Victim } from '../support/revocations';
import type { TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/service-process';

jest.setTimeout(1_800_000);

const kinds = Object.entries(revocations);
/** Total revocations of all kinds in each of the two runs. A longer run sets REVOCATIONS. */
const total = Number(process.env['REVOCATIONS'] ?? kinds.length);
/** Maximum time for which an instance may accept revoked state. */
const limitMs = 1_000;
/** Application name of the notification connections. */
const listener = 'carrier-identity notifications';

/** Results of one kind of revocation. */
interface Seen {
  /**
   * ms from the acknowledgement to the last outdated response of the other instance; 0 without one
   */
  believed: number[];
  /** ms to the first right response */
  ms: number[];
  /** number of first responses that were outdated */
  stale: number;
  /** all other faults */
  wrong: string[];
}

describe('revocations seen from the other instance', () => {
  let cluster: Cluster;
  let scene: Scene;
  let there: ServiceProcess;
  let batch = 0;
  beforeAll(async () => {
    cluster = await Cluster.create();
    const here = await cluster.start();
    there = await cluster.start();
    scene = { cluster, here, admin: await cluster.login(here) };
  });
  afterAll(() => cluster.close());

  const ask = (token: string): Promise<TestAnswer> => there.send('POST', '/auth/check-token', { body: { token } });

  /**
   * Terminates the notification connections, waits until they have ended, and returns their number.
   */
  async function cut(): Promise<number> {
    const ended = await cluster.rows(
      `
        select pg_terminate_backend(pid, 5000)
        from pg_stat_activity
        where application_name = $1 and datname = current_database()`,
      [listener],
    );
    return ended.length;
  }

  /** Creates a user whose session the other instance has cached and who has just refreshed. */
  async function warmed(login: Victim, { prepare, isAfter }: Revocation): Promise<Victim> {
    const pair = await rotated(scene.here, login.refresh_token);
    const victim = { ...login, ...pair, predecessor: login.refresh_token };
    await prepare?.(victim, scene);
    for (let time = 0; time < 3; time++) {
      const answer = await ask(victim.token);
      if (answer.status !== 200 || isAfter?.(answer) === true) throw new Error(`not warm: ${answer.text}`);
    }
    return victim;
  }

  /** Polls the other instance until it responds with the right state. */
  async function follow(victim: Victim, { isAfter }: Revocation, seen: Seen): Promise<TestAnswer> {
    const began = performance.now();
    let believed = 0;
    for (let asked = 0; ; asked++) {
      const answer = await ask(victim.token);
      const right = isAfter === undefined ? answer.status === 401 : isAfter(answer);
      if (answer.headers['cache-control'] !== 'no-store') seen.wrong.push('may be cached');
      if (!right && asked === 0) seen.stale++;
      if (!right) believed = performance.now() - began;
      if (!right && believed < 5 * limitMs) continue;
      seen.believed.push(believed);
      seen.ms.push(performance.now() - began);
      if (!right) seen.wrong.push(`never: ${answer.text}`);
      return answer;
    }
  }

  /**
   * Checks that a session stays ended for the same reason, even for a token within its grace
   * period.
   */
  async function staysSo(victim: Victim, { reason }: Revocation, seen: Seen): Promise<void> {
    if (reason === null) return;
    for (const instance of [there, scene.here]) {
      for (const refresh_token of [victim.predecessor, victim.refresh_token]) {
        const { status } = await instance.send('POST', '/auth/check-token', { body: { refresh_token } });
        if (status !== 401) seen.wrong.push(`a refresh token brought it back: ${status}`);
      }
      const { status } = await instance.send('GET', '/user', { token: victim.token });
      if (status !== 401) seen.wrong.push(`the token works again: ${status}`);
    }
    const [row] = await cluster.rows<{ ended_reason: string }>(
      'select ended_reason from sessions where session_id = $1',
      [victim.session_id],
    );
    if ((row?.ended_reason ?? 'purged') !== reason) seen.wrong.push(`ended as ${row?.ended_reason}`);
  }

  async function run(revocation: Revocation, rounds: number, before: () => Promise<unknown>): Promise<Seen> {
    const seen: Seen = { believed: [], ms: [], stale: 0, wrong: [] };
    const users = { ...revocation.users, prefix: `victim-${++batch}-` };
    for (const login of await addLogins(cluster, rounds, users)) {
      const victim = await warmed({ ...login, token: '', predecessor: '' }, revocation);
      await before();
      await revocation.act(victim, scene);
      await follow(victim, revocation, seen);
      await staysSo(victim, revocation, seen);
    }
    return seen;
  }

  /** Returns the number of rounds of a kind, which add up to the total. */
  const roundsOf = (index: number) => Math.floor(total / kinds.length) + (index < total % kinds.length ? 1 : 0);

  async function runAll(name: string, before: () => Promise<unknown>): Promise<Record<string, Seen>> {
    const all: Record<string, Seen> = {};
    for (const [index, [kind, revocation]] of kinds.entries())
      all[kind] = await run(revocation, roundsOf(index), before);
    const lines = Object.entries(all).map(([kind, seen]) => `${kind.padEnd(24)} ${figures([seen])}`);
    report(`revocation, ${name}:\n${lines.join('\n')}\n${'all'.padEnd(24)} ${figures(Object.values(all))}`);
    return all;
  }

  const wrongOf = (all: Record<string, Seen>) =>
    Object.fromEntries(Object.entries(all).map(([kind, { wrong }]) => [kind, wrong]));
  const nothingWrong = Object.fromEntries(kinds.map(([kind]) => [kind, []]));

  it(`applies ${total} revocations of ${kinds.length} kinds within a second, and forbids caching (S16)`, async () => {
    const all = await runAll('notified of changes', () => Promise.resolve());
    expect(wrongOf(all)).toEqual(nothingWrong);
    const slow = Object.entries(all).flatMap(([kind, { believed }]) =>
      believed.filter((each) => each > limitMs).map((each) => `${kind}: ${each} ms`),
    );
    expect(slow).toEqual([]);
  });

  it(`applies ${total} revocations at once while the notification connection is cut (S16)`, async () => {
    const listening = await cluster.rows(
      'select 1 from pg_stat_activity where application_name = $1 and datname = current_database()',
      [listener],
    );
    let ended = 0;
    const all = await runAll('connection cut', async () => (ended += await cut()));
    report(`revocation, connection cut: ${ended} connections ended`);
    expect(ended >= listening.length).toBe(true);
    expect(wrongOf(all)).toEqual(nothingWrong);
    expect(Object.fromEntries(Object.entries(all).map(([kind, { stale }]) => [kind, stale]))).toEqual(
      Object.fromEntries(kinds.map(([kind]) => [kind, 0])),
    );
  });
});

function report(lines: string): void {
  process.stdout.write(`${lines}\n`);
}

/** Returns count, outdated first responses and percentiles as text. */
function figures(all: Seen[]): string {
  const stale = all.reduce((sum, seen) => sum + seen.stale, 0);
  const believed = percentiles(all.flatMap((seen) => seen.believed));
  const answered = percentiles(all.flatMap((seen) => seen.ms));
  const count = String(all.flatMap(({ ms }) => ms).length).padStart(4);
  return `${count} done, ${stale} stale first answers, believed ${believed}; right answer after ${answered}`;
}

function percentiles(times: number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN).toFixed(1);
  return `p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)} ms`;
}
