import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import type { Config } from '../../src/platform/config/config';
import { serveMetricsPort } from '../../src/platform/metrics/metrics-server';
import { freePort } from '../support/process/built-program';
import { Mailbox } from '../support/network/mailbox';
import { namesIn, parseScrape, type Scrape, valuesOf } from '../support/metrics';
import { adminEmail, appSecret, password } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { TcpProxy } from '../support/network/tcp-proxy';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

const token = 'prometheus-0123456789-abcdefghijklmnop';
const durations = 'carrier_identity_http_request_duration_seconds';
const labelValues = /^{method="(.*)",route="(.*)",status="(.*)"}$/;
/** Requests of the tests themselves, whose number depends on the time. */
const ownRoutes = /route="\/(health\/ready|metrics)"/;

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook: string };
}

interface Panel {
  type: string;
  title: string;
  targets?: { expr: string }[];
}

const { groups } = load(readFileSync('deploy/prometheus/alerts.yml', 'utf8')) as { groups: { rules: Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);
const dashboard = JSON.parse(readFileSync('deploy/grafana/carrier-identity.json', 'utf8')) as { panels: Panel[] };
const monitoring = readFileSync('docs/monitoring.md', 'utf8');

/** Returns the metrics of an expression, without the suffixes of the series of a histogram. */
function metricsIn(expr: string): string[] {
  const series = expr.match(/\b(?:carrier_identity|nodejs|process)_[a-z0-9_]+|\bup\b/g) ?? [];
  return series.map((name) => name.replace(/_(bucket|sum|count)$/, ''));
}

/** One service, behind a proxy that stands in for a failing network to the database. */
describe('the metrics of a running service', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let mailbox: Mailbox;
  let port: number;
  let env: Record<string, string>;
  let service: ServiceProcess;
  beforeAll(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    mailbox = new Mailbox();
    await mailbox.start();
    port = await freePort();
    env = {
      DATABASE_URL: proxy.url,
      APP_SECRET: appSecret,
      SMTP_URL: mailbox.url,
      ADMIN_EMAIL: adminEmail,
      ADMIN_PASSWORD: password,
      LOCKOUT_THRESHOLD: '2',
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
      REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
      METRICS_PORT: String(port),
      METRICS_TOKEN: token,
      // Longer than the last test takes on any machine, which does not wait for it.
      SHUTDOWN_DELAY_SECONDS: '60',
    };
    service = await ServiceProcess.start(env);
  });
  afterAll(async () => {
    await service.kill();
    await mailbox.stop();
    await proxy.cut();
    await database.drop();
  });

  // The server may close an idle connection at the moment when the next scrape would use it.
  const own = (path = '/metrics', init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' }, ...init });
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
    await mailbox.take('bob@example.com', /./, 120_000);
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
    }, 120_000);
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
    const lookups = valuesOf(found, 'carrier_identity_token_lookups_total');
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
    expect(found.get('carrier_identity_operations_unfinished{kind="import",status="running"}')).toBe(0);
    expect(valuesOf(found, 'carrier_identity_retention_removed_total')['{kind="sessions"}']).toBe(0);
    // An instance that cannot trust its memory for a moment reads the database instead.
    await until(async () => {
      await service.send('POST', '/auth/check-token', { body: { token: admin.token } });
      return (valuesOf(await scrape(), 'carrier_identity_token_lookups_total')['{source="memory"}'] ?? 0) > 0;
    }, 120_000);
  });

  describe('as a scrape', () => {
    let text: string;
    let names: string[];
    beforeAll(async () => {
      text = await (await own()).text();
      names = namesIn(text);
    });

    it('exposes exactly the metrics in the table of docs/monitoring.md, with their types', () => {
      const documented = [...monitoring.matchAll(/^\| `(carrier_identity_\w+)` \| (\w+) \|/gm)];
      const exposed = [...text.matchAll(/^# TYPE (carrier_identity_\w+) (\w+)$/gm)];
      const asText = (matches: RegExpMatchArray[]) => matches.map(([, name, type]) => `${name} ${type}`).sort();
      expect(exposed.length).toBeGreaterThan(15);
      expect(asText(documented)).toEqual(asText(exposed));
    });

    it('exposes the metrics of each panel of the dashboard, and has a panel for each metric', () => {
      const shown = dashboard.panels.filter(({ type }) => type !== 'row');
      for (const { title, targets = [] } of shown) {
        const used = targets.flatMap(({ expr }) => metricsIn(expr));
        expect([title, used.length]).not.toEqual([title, 0]);
        expect([title, used.filter((name) => !names.includes(name))]).toEqual([title, []]);
      }
      const used = new Set(shown.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr))));
      expect(names.filter((name) => name.startsWith('carrier_identity_') && !used.has(name))).toEqual([]);
    });

    it('gives each alert a severity, texts and a runbook', () => {
      const headings = [...monitoring.matchAll(/^### (CarrierIdentity\w+)$/gm)].map(([, name]) => name);
      expect(headings).toEqual(alerts.map(({ alert }) => alert));
      for (const { alert, labels, annotations } of alerts) {
        expect(['critical', 'warning']).toContain(labels.severity);
        expect(annotations.runbook).toBe(`docs/monitoring.md#${alert.toLowerCase()}`);
        expect(annotations.summary.length).toBeGreaterThan(10);
        expect(annotations.description).toMatch(/\.$/);
      }
    });

    it('has the text format and the names that Prometheus expects', () => {
      const samples = [...parseScrape(text)].map(([key, value]) => ({ name: key.split('{')[0] ?? '', key, value }));
      expect(samples).toHaveLength(text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length);
      const series = /^[a-z0-9_]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})?$/;
      expect(samples.filter(({ key }) => !series.test(key))).toEqual([]);
      // prom-client has no mean right after another scrape.
      const withoutValue = samples.filter(({ value }) => Number.isNaN(value)).map(({ name }) => name);
      expect(withoutValue.filter((name) => !name.startsWith('nodejs_eventloop_lag_'))).toEqual([]);
      const types = new Map(
        [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
      );
      expect(names).toEqual([...types.keys()]);
      for (const [name, type] of types) {
        expect([name, text.split(`# HELP ${name} `)]).toEqual([
          name,
          [expect.anything(), expect.stringMatching(/^\S/)],
        ]);
        expect([name, type, name.endsWith('_total')]).toEqual([name, type, type === 'counter']);
        expect(name).not.toMatch(/_(ms|milliseconds|minutes|kilobytes|mb|info_total|bucket|count|sum)$/);
      }
      const base = ({ name }: { name: string }) => (types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, ''));
      expect(samples.filter((sample) => !types.has(base(sample)))).toEqual([]);
    });

    it('exposes the metrics of each alert, and of the tests of the alerts', () => {
      interface RuleTest {
        input_series: { series: string }[];
        alert_rule_test?: { alertname: string }[];
      }
      expect(alerts).toHaveLength(14);
      // The limit of CarrierIdentityCheckTokenSlow is the bound of a bucket.
      expect(text).toMatch(new RegExp(`^${durations}_bucket{le="0.25"`, 'm'));
      expect(alerts.filter(({ expr }) => metricsIn(expr).length === 0)).toEqual([]);
      const { tests } = load(readFileSync('deploy/prometheus/alerts.test.yml', 'utf8')) as { tests: RuleTest[] };
      const fed = tests.flatMap(({ input_series: all }) => all.map(({ series }) => series));
      const used = [...alerts.map(({ expr }) => expr), ...fed].flatMap(metricsIn);
      expect(used.filter((name) => name !== 'up' && !names.includes(name))).toEqual([]);
      const tried = tests.flatMap(({ alert_rule_test: all = [] }) => all.map(({ alertname }) => alertname));
      expect(tried.filter((name) => !alerts.some(({ alert }) => alert === name))).toEqual([]);
    });
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

  it('does not start if METRICS_PORT is taken', async () => {
    const second = new ServiceProcess(env);
    expect(await second.exit).toBe(1);
    expect(second.stderr).toMatch(new RegExp(`METRICS_PORT: listen EADDRINUSE.*:${port}`));
  });

  it.each([
    ['hangs', () => Promise.resolve(proxy.freeze())],
    ['stops', () => proxy.cut()],
  ])('serves the metrics of the process when the database %s', async (_name, fail) => {
    const sampled = (found: Scrape) => Object.keys(valuesOf(found, 'carrier_identity_operations_unfinished')).length;
    await until(async () => sampled(await scrape()) > 0, 120_000);
    await fail();
    let found: Scrape = new Map();
    await until(async () => {
      found = await scrape();
      return sampled(found) === 0 && (found.get('carrier_identity_listener_age_seconds') ?? 0) > 2;
    }, 120_000);
    expect(found.get('carrier_identity_build_info{version="1.0.0",node_version="' + process.version + '"}')).toBe(1);
    const many = await Promise.all(Array.from({ length: 20 }, scrape));
    expect(many.map(sampled)).toEqual(many.map(() => 0));
    await proxy.restore();
  });

  it('serves them on METRICS_PORT while the service stops', async () => {
    void service.stop();
    await until(async () => (await fetch(`${service.url}/health/ready`)).status === 503, 120_000);
    expect((await scrape()).get('carrier_identity_lockouts_total')).toBe(1);
  });
});

it('responds with 500 if the metrics cannot be rendered', async () => {
  const port = await freePort();
  const headers = { connection: 'close' };
  const config = { METRICS_PORT: port, HOST: '127.0.0.1' } as Config;
  await serveMetricsPort(config, () => Promise.reject(new Error('not rendered')));
  expect((await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).status).toBe(500);
});
