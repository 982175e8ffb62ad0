import { connect } from 'node:net';
import { hashToken } from '../../src/platform/random';
import { Cluster } from '../support/cluster';
import { queueEmpty } from '../support/links';
import { until } from '../support/until';
import { addLogins, type MadeLogin, refreshTokens, rotated } from '../support/made-logins';
import { Mailbox } from '../support/mailbox';
import { requestHead } from '../support/raw-connection';
import type { TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/service-process';

jest.setTimeout(1_800_000);

/** Total rounds of the race. The full run sets 1000. */
const rounds = Number(process.env['REFRESH_ROUNDS'] ?? 40);
/** Total replays after the grace period. The full run sets 1000. */
const replays = Number(process.env['REPLAYS'] ?? 50);
const racers = 20;
/** Number of sessions that share the rounds, so that each has many successors. */
const racing = 5;

describe('refreshes over two processes', () => {
  const mailbox = new Mailbox();
  let cluster: Cluster;
  let instances: [ServiceProcess, ServiceProcess];
  beforeAll(async () => {
    await mailbox.start();
    cluster = await Cluster.create();
    const first = await cluster.start({ SMTP_URL: mailbox.url });
    instances = [first, await cluster.start({ SMTP_URL: mailbox.url })];
    // A trigger counts each stored rotation.
    await cluster.rows('create table rotations (session_id uuid, at timestamptz default clock_timestamp())');
    await cluster.rows(`create function count_rotation() returns trigger language plpgsql as $$
      begin insert into rotations (session_id) values (new.session_id); return null; end $$`);
    await cluster.rows(`create trigger count_rotation after update on sessions for each row
      when (old.refresh_token_hash is distinct from new.refresh_token_hash) execute function count_rotation()`);
  });
  afterAll(async () => {
    await cluster.close();
    await mailbox.stop();
  });

  const at = (index: number): ServiceProcess => instances[index % 2 === 0 ? 0 : 1];
  const refresh = (index: number, refresh_token: string): Promise<TestAnswer> =>
    at(index).send('POST', '/auth/check-token', { body: { refresh_token } });
  const works = async (index: number, token: string) => (await at(index).send('GET', '/user', { token })).status;
  const moveBack = ({ session_id }: MadeLogin, seconds: number) =>
    cluster.rows(
      `update sessions set refreshed_at = refreshed_at - $2::integer * interval '1 s' where session_id = $1`,
      [session_id, seconds],
    );

  /** Returns the stored state of a session. */
  async function stateOf({ session_id }: MadeLogin): Promise<Record<string, unknown>> {
    const [row] = await cluster.rows(
      `
        select
          ended_reason, encode(refresh_token_hash, 'hex') as current,
          encode(previous_refresh_token_hash, 'hex') as previous,
          (select count(*)::integer from rotations where rotations.session_id = sessions.session_id) as rotations,
          (
            select count(*)::integer
            from events
            where event_type = 'session.token_reused' and target_id = sessions.session_id
          ) as reuses,
          (select count(*)::integer from sessions others where others.user_id = sessions.user_id) as sessions
        from sessions
        where session_id = $1`,
      [session_id],
    );
    return row as Record<string, unknown>;
  }
  const hex = (token: string) => hashToken(token).toString('hex');

  it(`gives ${racers} tabs the same successor in ${rounds} rounds, and ends no session (S9)`, async () => {
    const logins = await addLogins(cluster, racing, { prefix: 'racer' });
    const lines = new Map(logins.map((login) => [login.session_id, [login.refresh_token]]));
    const wrong: string[] = [];
    const began = performance.now();
    for (let round = 0; round < rounds; round++) {
      const login = logins[round % racing] as MadeLogin;
      const line = lines.get(login.session_id) as string[];
      const current = line.at(-1) as string;
      const answers = await Promise.all(Array.from({ length: racers }, (_, index) => refresh(index, current)));
      const refused = answers.filter(({ status }) => status !== 200).length;
      const successors = new Set(answers.map(({ body }) => body.refresh_token as string));
      const [next = ''] = successors;
      const usable = await Promise.all(
        [answers[0], answers[racers - 1]].map((answer, index) => works(index + 1, String(answer?.body.access_token))),
      );
      const right =
        refused === 0 &&
        successors.size === 1 &&
        next === refreshTokens.successor(current) &&
        usable.every((status) => status === 200);
      if (!right) wrong.push(`round ${round}: ${refused} refused, ${successors.size} successors, ${usable.join()}`);
      line.push(next);
      if ((round + 1) % Math.ceil(rounds / 5) === 0)
        report(`refresh race: ${round + 1} rounds, ${wrong.length} wrong, ${seconds(began)} s`);
    }
    expect(wrong).toEqual([]);
    for (const [number, login] of logins.entries()) {
      const line = lines.get(login.session_id) as string[];
      const turns = Math.floor(rounds / racing) + (number < rounds % racing ? 1 : 0);
      expect(new Set(line).size).toBe(turns + 1);
      const last = line.at(-1) as string;
      const before = turns === 0 ? null : hex(line.at(-2) as string);
      const unharmed = { ended_reason: null, reuses: 0, sessions: 1 };
      expect(await stateOf(login)).toEqual({ ...unharmed, rotations: turns, current: hex(last), previous: before });
      expect((await refresh(number, last)).status).toBe(200);
    }
    const requests = rounds * racers;
    report(
      `refresh race: ${rounds} x ${racers} over 2 processes: ${requests} refreshes, ` +
        `0 rejected, 0 forks, ${racing} of ${racing} sessions live`,
    );
  });

  it(`ends the session, records and notifies at each of ${replays} replays after the grace period (S8)`, async () => {
    const logins = await addLogins(cluster, replays, { prefix: 'robbed' });
    const wrong: string[] = [];
    for (const [number, login] of logins.entries()) {
      const r1 = await rotated(at(number), login.refresh_token);
      // The replay comes one or two rotations later, so the token may be older than the
      // predecessor.
      const r2 = number % 2 === 0 ? r1 : await rotated(at(number + 1), r1.refresh_token);
      await moveBack(login, 10);
      const statuses = [
        ...[(await refresh(number + 1, login.refresh_token)).status, (await refresh(number, r2.refresh_token)).status],
        ...[await works(0, r1.token), await works(1, r1.token), await works(0, r2.token), await works(1, r2.token)],
      ];
      const { ended_reason, reuses } = await stateOf(login);
      const found = statuses.every((status) => status === 401) && ended_reason === 'token_reuse' && reuses === 1;
      if (!found) wrong.push(`replay ${number}: ${statuses.join()}, ${String(ended_reason)}, ${String(reuses)} events`);
    }
    expect(wrong).toEqual([]);
    const mailsTo = ({ email }: MadeLogin) => mailbox.mails.filter(({ to }) => to.includes(email)).length;
    await until(async () => logins.every((login) => mailsTo(login) > 0), 120_000);
    await queueEmpty(cluster);
    expect(logins.filter((login) => mailsTo(login) !== 1)).toEqual([]);
    report(`replay after the grace: ${replays} of ${replays} found: sessions ended, events, mails`);
  });

  it('ends the session once, with one event and one mail, for parallel replays on both processes (S8)', async () => {
    const [login] = (await addLogins(cluster, 1, { prefix: 'mobbed' })) as [MadeLogin];
    await rotated(at(0), login.refresh_token);
    await moveBack(login, 10);
    const answers = await Promise.all(
      Array.from({ length: racers }, (_, index) => refresh(index, login.refresh_token)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(racers).fill(401));
    expect(await stateOf(login)).toMatchObject({ ended_reason: 'token_reuse', reuses: 1 });
    await mailbox.take(login.email);
    await queueEmpty(cluster);
    expect(mailbox.mails.filter(({ to }) => to.includes(login.email))).toEqual([]);
  });

  it('repeats the successor of a lost response on the other process, within the grace period only (S10)', async () => {
    const [login, late] = (await addLogins(cluster, 2, { prefix: 'lost' })) as [MadeLogin, MadeLogin];
    for (const lost of [login, late]) {
      await sendAndHangUp(at(0), lost.refresh_token);
      await until(async () => (await stateOf(lost))['rotations'] === 1, 15_000);
    }
    await moveBack(login, 5);
    const again = await rotated(at(1), login.refresh_token);
    expect(again.refresh_token).toBe(refreshTokens.successor(login.refresh_token));
    expect(await works(0, again.token)).toBe(200);
    expect(await stateOf(login)).toMatchObject({ rotations: 1, ended_reason: null, reuses: 0 });
    await moveBack(late, 60);
    expect((await refresh(1, late.refresh_token)).status).toBe(401);
    expect(await stateOf(late)).toMatchObject({ rotations: 1, ended_reason: 'token_reuse', reuses: 1 });
  });

  it('ends the session when a token is replayed two rotations later within the grace period (S11)', async () => {
    const [login] = (await addLogins(cluster, 1, { prefix: 'twice' })) as [MadeLogin];
    const r1 = await rotated(at(0), login.refresh_token);
    const r2 = await rotated(at(1), r1.refresh_token);
    expect((await refresh(0, login.refresh_token)).status).toBe(401);
    for (const token of [login.refresh_token, r1.refresh_token, r2.refresh_token]) {
      for (const index of [0, 1]) expect((await refresh(index, token)).status).toBe(401);
    }
    for (const index of [0, 1])
      expect([await works(index, r1.token), await works(index, r2.token)]).toEqual([401, 401]);
    expect(await stateOf(login)).toMatchObject({
      ended_reason: 'token_reuse',
      reuses: 1,
      rotations: 2,
      current: hex(r2.refresh_token),
    });
  });
});

function report(line: string): void {
  process.stdout.write(`${line}\n`);
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1_000).toFixed(0);
}

/** Sends a refresh and closes the connection without reading the response. */
async function sendAndHangUp({ url }: ServiceProcess, refresh_token: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify({ refresh_token });
  const headers = { host: hostname, 'content-type': 'application/json', 'content-length': String(body.length) };
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.end(requestHead('POST', '/auth/check-token', headers) + body);
  await new Promise((resolve) => socket.once('finish', resolve));
  socket.destroy();
}
