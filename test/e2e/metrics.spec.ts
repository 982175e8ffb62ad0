import { freePort } from '../support/built-program';
import { Mailbox } from '../support/mailbox';
import { parseScrape, type Scrape, valuesOf } from '../support/metrics';
import { adminEmail, appSecret, password } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

const token = 'prometheus-0123456789-abcdefghijklmnop';
const durations = 'carrier_identity_http_request_duration_seconds';
const labelValues = /^{method="(.*)",route="(.*)",status="(.*)"}$/;
/** Requests of the tests themselves, whose number depends on the time. */
const ownRoutes = /route="\/(health\/ready|metrics)"/;

describe('the metrics of a running service', () => {
  let database: TestDatabase;
  let mailbox: Mailbox;
  let port: number;
  let env: Record<string, string>;
  let service: ServiceProcess;
  beforeAll(async () => {
    database = await createTestDatabase();
    mailbox = new Mailbox();
    await mailbox.start();
    port = await freePort();
    env = {
      DATABASE_URL: database.url,
      APP_SECRET: appSecret,
      SMTP_URL: mailbox.url,
      ADMIN_EMAIL: adminEmail,
      ADMIN_PASSWORD: password,
      LOCKOUT_THRESHOLD: '2',
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
      REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
      METRICS_PORT: String(port),
      METRICS_TOKEN: token,
      SHUTDOWN_DELAY_SECONDS: '3',
    };
    service = await ServiceProcess.start(env);
  });
  afterAll(async () => {
    await service.kill();
    await mailbox.stop();
    await database.drop();
  });

  const own = (path = '/metrics', init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init);
  const main = (headers: Record<string, string> = {}) => fetch(`${service.url}/metrics`, { headers });
  const scrape = async (): Promise<Scrape> => parseScrape(await (await own()).text());
  const requestsIn = (found: Scrape) =>
    Object.fromEntries(
      Object.entries(valuesOf(found, `${durations}_count`))
        .filter(([labels]) => !ownRoutes.test(labels))
        .map(([labels, count]) => [labelValues.exec(labels)?.slice(1).join(), count]),
    );
  const login = (name: string, secret = password) =>
    service.send('POST', '/auth/login', { body: { login: name, password: secret } });

  it('counts exactly the requests, logins, lockouts, tokens, mails and rows of known traffic', async () => {
    const { body } = await login(adminEmail);
    const admin = { token: body.access_token as string };
    const user = { user_type: 'carrier', carrier_id: 'c1', name: 'ada', email: 'ada@example.com' };
    const fields = { password, must_change_password: false };
    expect((await service.send('POST', '/user/create', { ...admin, body: { ...user, ...fields } })).status).toBe(201);
    const invited = { ...user, name: 'bob', email: 'bob@example.com' };
    expect((await service.send('POST', '/user/create', { ...admin, body: invited })).status).toBe(201);
    await mailbox.take('bob@example.com');
    mailbox.unknown.add('eve@example.com');
    const unreachable = { ...user, name: 'eve', email: 'eve@example.com' };
    expect((await service.send('POST', '/user/create', { ...admin, body: unreachable })).status).toBe(201);

    for (const status of [401, 401, 429]) expect((await login('ada', 'wrong password')).status).toBe(status);
    expect((await login('nobody', 'wrong password')).status).toBe(401);
    for (let request = 0; request < 5; request++)
      await service.send('POST', '/auth/check-token', { body: { token: admin.token } });
    await service.send('POST', '/auth/check-token', { body: { token: `${admin.token}x` } });
    for (const path of ['/no', '/no/such', '/path.php']) await fetch(service.url + path);
    await fetch(`${service.url}/user/list`, { method: 'PUT' });
    const rows = ['carol', 'dan', 'x'].map((name) => JSON.stringify({ ...user, name, email: `${name}@example.com` }));
    const headers = { 'content-type': 'application/x-ndjson' };
    const imported = await service.send('POST', '/user/import', { ...admin, body: rows.join('\n'), headers });
    expect(imported.body).toMatchObject({ changed: 2, skipped_count: 1 });

    let found = await scrape();
    await until(async () => {
      found = await scrape();
      return found.get('carrier_identity_mails_unsent{state="retrying"}') === 1;
    });
    expect(requestsIn(found)).toEqual({
      'POST,/auth/login,200': 1,
      'POST,/auth/login,401': 3,
      'POST,/auth/login,429': 1,
      'POST,/user/create,201': 3,
      'POST,/auth/check-token,200': 5,
      'POST,/auth/check-token,401': 1,
      'GET,unknown,404': 3,
      'other,/user/list,405': 1,
      'POST,/user/import,200': 1,
    });
    expect(valuesOf(found, 'carrier_identity_logins_total')).toEqual({
      '{outcome="succeeded"}': 1,
      '{outcome="challenged"}': 0,
      '{outcome="failed"}': 3,
      '{outcome="second_factor_failed"}': 0,
      '{outcome="challenge_invalid"}': 0,
      '{outcome="locked"}': 1,
      '{outcome="address_rejected"}': 0,
      '{outcome="overloaded"}': 0,
      '{outcome="error"}': 0,
    });
    expect(found.get('carrier_identity_lockouts_total')).toBe(1);
    // An instance that cannot trust its memory for a moment reads the database instead.
    const lookups = valuesOf(found, 'carrier_identity_token_lookups_total');
    expect(lookups['{source="memory"}']).toBeGreaterThan(0);
    expect(lookups['{source="database"}']).toBeGreaterThan(0);
    expect(Object.values(lookups).reduce((sum, count) => sum + count)).toBe(9);
    expect(valuesOf(found, 'carrier_identity_import_rows_total')).toEqual({
      '{outcome="created"}': 2,
      '{outcome="unchanged"}': 0,
      '{outcome="failed"}': 1,
    });
    expect(found.get('carrier_identity_mails_total{mail="invitation",outcome="sent"}')).toBe(1);
    expect(found.get('carrier_identity_mails_total{mail="invitation",outcome="failed"}')).toBeGreaterThanOrEqual(1);
    expect(found.get('carrier_identity_jobs{task="send-mail",state="retrying"}')).toBe(1);
    // The first administrator, one for each login with a password, and the two created passwords.
    expect(found.get('carrier_identity_hash_queue_wait_seconds_count{kind="login"}')).toBe(4);
    expect(found.get('carrier_identity_hash_queue_wait_seconds_count{kind="other"}')).toBe(2);
    expect(found.get('carrier_identity_hash_queue_waiting{kind="login"}')).toBe(0);
    expect(found.get('carrier_identity_listener_age_seconds')).toBeLessThan(5);
    expect(found.get('carrier_identity_operations_unfinished{kind="import",status="running"}')).toBe(0);
    expect(valuesOf(found, 'carrier_identity_retention_removed_total')['{kind="sessions"}']).toBe(0);
  });

  it('counts each request in exactly one bucket', async () => {
    const found = await scrape();
    for (const [labels, count] of Object.entries(valuesOf(found, `${durations}_count`))) {
      const others = labels.slice(1);
      const buckets = [...found].filter(([key]) => key.startsWith(`${durations}_bucket{le=`) && key.endsWith(others));
      const values = buckets.map(([, value]) => value);
      expect([labels, values.at(-1)]).toEqual([labels, count]);
      expect(values).toEqual([...values].sort((one, other) => one - other));
      expect(values).toHaveLength(14);
    }
  });

  it('serves them on METRICS_PORT without a token, and nothing else', async () => {
    const answer = await own();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect((await own('/metrics?name=x', { method: 'HEAD' })).status).toBe(200);
    expect((await own('/')).status).toBe(404);
    expect((await own('/user/list')).status).toBe(404);
    const posted = await own('/metrics', { method: 'POST', body: 'x' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('serves the same metrics on PORT to a client with METRICS_TOKEN', async () => {
    expect((await main()).status).toBe(401);
    const answer = await main({ authorization: `Bearer ${token}` });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(parseScrape(await answer.text()).get('carrier_identity_lockouts_total')).toBe(1);
  });

  it('does not start if METRICS_PORT is taken', async () => {
    const second = await ServiceProcess.spawn(env);
    expect(await second.exit).toBe(1);
    expect(second.stderr).toMatch(new RegExp(`METRICS_PORT: listen EADDRINUSE.*:${port}`));
  });

  it('serves them on METRICS_PORT while the service stops', async () => {
    const code = service.stop();
    await until(async () => (await fetch(`${service.url}/health/ready`)).status === 503);
    expect((await own()).status).toBe(200);
    await until(() =>
      fetch(service.url).then(
        () => false,
        () => true,
      ),
    );
    expect((await scrape()).get('carrier_identity_lockouts_total')).toBe(1);
    expect(await code).toBe(0);
    await expect(own()).rejects.toThrow();
  });
});
