import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { runBuilt } from '../../support/built-program';
import { Cluster } from '../../support/cluster';
import { adminEmail, appSecret, password } from '../../support/service';
import type { ServiceProcess } from '../../support/service-process';
import { decode } from '../../support/tokens';

jest.setTimeout(180_000);

const newSecret = 'another-secret-9876543210-zyxwvutsrqp';
const verifiesForSeconds = 3_650;

const kidOf = (token: string) => decode(token, 0)['kid'] as string;

/** The tests use one database in order. */
describe('the rotation of signing keys', () => {
  let cluster: Cluster;
  /** instance that knows only the new secret, after the change of `APP_SECRET` */
  let renewed: ServiceProcess;
  let instances: [ServiceProcess, ServiceProcess];
  beforeAll(async () => {
    cluster = await Cluster.create();
  });
  afterAll(() => cluster.close());

  const cli = (...args: string[]) =>
    runBuilt('src/cli/cli.js', { DATABASE_URL: cluster.databaseUrl, APP_SECRET: newSecret }, args);
  const works = async (instance: ServiceProcess, token: string) =>
    (await instance.send('GET', '/user', { token })).status;
  const login = async (instance: ServiceProcess) =>
    (await instance.send('POST', '/auth/login', { body: { login: adminEmail, password } })).body as Record<
      'access_token' | 'refresh_token',
      string
    >;
  const refresh = (instance: ServiceProcess, refresh_token: string) =>
    instance.send('POST', '/auth/check-token', { body: { refresh_token } });
  const published = async (instance: ServiceProcess): Promise<string[]> =>
    (await instance.send('GET', '/.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid);

  it('explains the command, and ends with status 1 for unknown arguments', async () => {
    const refused = [[], ['toString'], ['rotate-keys', '--nwo']];
    const ends = await Promise.all(refused.map((args) => cli(...args)));
    expect(await cli('rotate-keys', '--help')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Commands:/),
      stderr: '',
    });
    const message = expect.stringMatching(
      /^(Commands:\n {2}admin-recover [^]*\n {2}rotate-keys|Unknown option '--nwo')/,
    );
    expect(ends).toEqual(refused.map(() => ({ code: 1, stdout: '', stderr: message })));
    expect(await cluster.rows('select 1 from signing_keys')).toEqual([]);
  });

  it('keeps sessions and tokens over a change of APP_SECRET, and opens nothing with the old one (J13)', async () => {
    const stored = async () =>
      (await cluster.rows<{ private_key: Buffer }>('select private_key from signing_keys'))[0]!.private_key.toString(
        'hex',
      );
    const before = await cluster.start();
    const [first, kept] = [await login(before), await login(before)];
    const r1 = (await refresh(before, first.refresh_token)).body;
    const sealed = await stored();
    expect(await before.stop()).toBe(0);

    const during = await cluster.start({ APP_SECRET: newSecret, APP_SECRET_PREVIOUS: appSecret });
    expect(await stored()).not.toBe(sealed);
    expect(await works(during, first.access_token)).toBe(200);
    // Within the grace period the predecessor still gets the successor from the old secret.
    await cluster.rows('update sessions set refreshed_at = now()');
    expect((await refresh(during, first.refresh_token)).body.refresh_token).toBe(r1.refresh_token);
    const r2 = (await refresh(during, r1.refresh_token)).body;
    const keptOn = (await refresh(during, kept.refresh_token)).body;
    // Reuse is still detected.
    await cluster.rows(`update sessions set refreshed_at = now() - interval '1 hour'`);
    expect((await refresh(during, first.refresh_token)).status).toBe(401);
    expect((await refresh(during, r2.refresh_token)).status).toBe(401);
    expect(await during.stop()).toBe(0);

    renewed = await cluster.start({ APP_SECRET: newSecret });
    expect(await works(renewed, kept.access_token)).toBe(200);
    expect((await refresh(renewed, keptOn.refresh_token)).status).toBe(200);
    expect((await refresh(renewed, kept.refresh_token)).status).toBe(401);
    const others: Record<string, string>[] = [
      {},
      { APP_SECRET: [...newSecret].reverse().join(''), APP_SECRET_PREVIOUS: appSecret },
    ];
    const refusing = await Promise.all(others.map((env) => cluster.spawn(env)));
    for (const instance of refusing) {
      expect(await instance.exit).toBe(1);
      expect(instance.output).toContain(
        'APP_SECRET: differs from the secret that encrypted the signing key in this database',
      );
    }
  });

  it('gives tabs on two instances with different secrets the same successor (S9)', async () => {
    const ended = () => cluster.rows('select session_id from sessions where ended_at is not null');
    const before = await ended();
    const a = await cluster.start({ APP_SECRET_PREVIOUS: newSecret });
    const b = await cluster.start({ APP_SECRET: newSecret, APP_SECRET_PREVIOUS: appSecret });
    let { refresh_token } = await login(a);
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => refresh((index + round) % 2 === 0 ? a : b, refresh_token)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
      expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
      refresh_token = answers[0]!.body.refresh_token as string;
    }
    expect(await ended()).toEqual(before);
    // An instance that cannot decrypt the stored successor rejects the token and ends nothing.
    const { refresh_token: ofA } = await login(a);
    const { refresh_token: ofB } = await login(b);
    const byA = (await refresh(a, ofB)).body.refresh_token as string;
    expect([(await refresh(renewed, ofA)).status, (await refresh(renewed, ofB)).status]).toEqual([401, 401]);
    expect((await refresh(b, ofB)).body.refresh_token).toBe(byA);
    expect((await refresh(b, ofA)).status).toBe(200);
    expect(await Promise.all([renewed, a, b].map((instance) => instance.stop()))).toEqual([0, 0, 0]);
  });

  it('creates one successor when two instances start with a key due for rotation (J20)', async () => {
    await cluster.rows(`update signing_keys set signs_from = signs_from - interval '29 days'`);
    // The following tests use these instances. Their repeated logins must not end older sessions.
    const env = { APP_SECRET: newSecret, SESSIONS_PER_USER_MAX: '1000' };
    instances = await Promise.all([cluster.start(env), cluster.start(env)]);
    expect(await cluster.rows('select count(*)::integer as count from signing_keys')).toEqual([{ count: 2 }]);
    expect(await cluster.rows(`select actor_type from events where event_type = 'signing_key.rotated'`)).toEqual([
      { actor_type: 'system' },
    ]);
    const lists = await Promise.all(instances.map(published));
    expect(new Set(lists.map((list) => list.join())).size).toBe(1);
  });

  it('rejects all tokens of a stolen key on every instance after --revoke, and keeps sessions (J20)', async () => {
    const [a, b] = instances;
    const { access_token, refresh_token } = await login(a);
    expect((await cli('rotate-keys')).stdout).toMatch(/^Nothing to do: the key \S{43} is already scheduled/);
    expect((await cli('rotate-keys', '--now', '--revoke')).stdout).toMatch(
      /^The new key \S{43} signs\. 2 other keys are revoked/,
    );
    await a.until(async () =>
      (await Promise.all(instances.map((instance) => works(instance, access_token)))).every((status) => status === 401),
    );
    // A token of a revoked key proves nothing, so the refresh token must be sent alone.
    expect((await a.send('POST', '/auth/check-token', { token: access_token, body: { refresh_token } })).status).toBe(
      401,
    );
    const refreshed = (await refresh(a, refresh_token)).body;
    for (const instance of instances) expect(await works(instance, refreshed.access_token)).toBe(200);
    expect((await Promise.all(instances.map(published))).flat()).toEqual([
      kidOf(refreshed.access_token),
      kidOf(refreshed.access_token),
    ]);
    // Also the other way round, on an instance that learns of the key only from a token.
    const { stdout } = await cli('rotate-keys', '--revoke');
    await a.until(async () => kidOf((await login(a)).access_token) === / key (\S{43}) /.exec(stdout)?.[1]);
    const next = (await login(a)).access_token;
    expect(await works(b, next)).toBe(200);
  });

  it('rejects no valid token during rotations under load on two instances (J20, F33)', async () => {
    const [a, b] = instances;
    const old = (await login(a)).access_token;
    const kids = new Set([kidOf(old)]);
    let asked = 0;
    const refused: string[] = [];
    let done = false;
    const work = async (here: ServiceProcess, there: ServiceProcess) => {
      let { refresh_token } = await login(here);
      while (!done) {
        const { status, text, body } = await refresh(here, refresh_token);
        if (status !== 200) return void refused.push(`refresh ${status} ${text}`);
        refresh_token = body.refresh_token as string;
        kids.add(kidOf(body.access_token));
        // A new token works on the other instance immediately, and the oldest one on both.
        for (const [instance, token] of [
          [there, body.access_token],
          [here, old],
          [there, old],
        ] as const) {
          asked++;
          if ((await works(instance, token)) !== 200) refused.push(`${kidOf(token)} on ${instance === a ? 'a' : 'b'}`);
        }
        // Leaves time for the command, which starts beside the load.
        await delay(10);
      }
    };
    const load = Promise.all([work(a, b), work(b, a), work(a, a), work(b, b)]);
    const { code, stdout, stderr } = await cli('rotate-keys', '--now');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^The new key \S{43} signs from \S+Z on\. Existing tokens stay valid/),
    ]);
    expect(stderr).toBe('');
    const after = / key (\S{43}) /.exec(stdout)?.[1] ?? '';
    await a.until(async () => (await Promise.all(instances.map(published))).every((list) => list.includes(after)));
    expect(kids).toEqual(new Set([kidOf(old)]));
    // The key would sign 45 s after its creation (test/medium/signing-keys.spec.ts). This update
    // moves the time, and the instances are notified.
    await cluster.rows(`update signing_keys set signs_from = now() + interval '1 s' where kid = $1`, [after]);
    const signsThere = async (instance: ServiceProcess) => kidOf((await login(instance)).access_token) === after;
    await a.until(async () => (await Promise.all(instances.map(signsThere))).every(Boolean));
    const before = asked;
    await a.until(() => refused.length > 0 || (asked > before + 200 && asked > 300));
    done = true;
    await load;
    expect(refused).toEqual([]);
    expect(kids).toEqual(new Set([kidOf(old), after]));

    const age = (seconds: number) => {
      const more = `make_interval(secs => $1) - (now() - (select signs_from from signing_keys where kid = $2))`;
      return cluster.rows(`update signing_keys set signs_from = signs_from - (${more})`, [seconds, after]);
    };
    const allPublish = (kids: string[]) =>
      a.until(async () =>
        (await Promise.all(instances.map(published))).every((list) => isDeepStrictEqual(list.sort(), kids.sort())),
      );
    await age(verifiesForSeconds - 300);
    // An instance that publishes the next key has also loaded the aged keys.
    const next = /^The new key (\S{43}) signs from /.exec((await cli('rotate-keys')).stdout)?.[1] ?? '';
    await allPublish([kidOf(old), after, next]);
    for (const instance of instances) expect(await works(instance, old)).toBe(200);
    await age(verifiesForSeconds);
    await allPublish([after, next]);
    for (const instance of instances) expect(await works(instance, old)).toBe(401);
    for (const instance of instances) expect(await works(instance, (await login(a)).access_token)).toBe(200);
    expect(instances.map(({ output }) => output).join('')).not.toMatch(/"level":"(error|fatal)"/);
  });
});
