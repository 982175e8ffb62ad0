import startServer from '../support/global-setup';
import stopServer from '../support/global-teardown';
import { HookReceiver } from '../support/network/hook-receiver';
import { OtlpReceiver, type ReceivedSpan } from '../support/network/otlp-receiver';
import { password, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { until } from '../support/until';

const server = 2;
const client = 3;
const consumer = 5;
const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent_id = '00f067aa0ba902b7';
const traceparent = `00-${trace_id}-${parent_id}-01`;
const ip = '203.0.113.77';

describe('traces', () => {
  let service: TestService;
  const collector = new OtlpReceiver();
  const hooks = new HookReceiver();
  beforeAll(async () => {
    // A server of its own: transactions of other tests would hold the feed back.
    await startServer();
    await Promise.all([collector.start(), hooks.start()]);
    service = await TestService.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collected',
      OTEL_SERVICE_NAME: 'identity-test',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    });
  });
  afterAll(async () => {
    await service.close();
    await Promise.all([collector.stop(), hooks.stop(), stopServer()]);
  });

  /** Waits for a span, and returns it with the spans of its trace. */
  async function spanOf(name: string, matches: (span: ReceivedSpan) => boolean = () => true) {
    const find = () => collector.of(name).filter(matches).at(-1);
    await until(() => find() !== undefined);
    const span = find() as ReceivedSpan;
    const inside = (child: string) =>
      collector.of(child).filter((one) => one.trace_id === span.trace_id && one.parent_id === span.span_id);
    return { span, inside };
  }
  /** Waits for the line of a request in the log. */
  async function loggedAs(id: string): Promise<unknown> {
    const find = () => service.stdout.split('\n').find((line) => line.includes(`"reqId":"${id}"`));
    await until(() => find()?.endsWith('}') === true);
    return JSON.parse(find() ?? '');
  }
  const ofTrace = (span: ReceivedSpan) => span.trace_id === trace_id;

  it('records a login in the trace of the caller, with its statements and its hash', async () => {
    const { name } = await service.createUser();
    const headers = { traceparent, tracestate: 'portal=1', 'x-request-id': 'traced-login' };
    await service.post('/auth/login', { headers, body: { login: name, password } });
    const { span, inside } = await spanOf('POST /auth/login', ofTrace);
    expect(span).toMatchObject({ parent_id, trace_state: 'portal=1', kind: server, failed: false });
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/auth/login',
      'http.response.status_code': '200',
    });
    expect(inside('hash password')).toHaveLength(1);
    expect(inside('COMMIT').length).toBeGreaterThan(0);
    const statements = [...inside('SELECT'), ...inside('WITH'), ...inside('INSERT')];
    expect(statements.map(({ attributes }) => attributes['db.query.text'])).toContainEqual(
      expect.stringMatching(/login_attempts[^]+\$1/),
    );
    expect(statements[0]).toMatchObject({ kind: client, attributes: { 'db.system.name': 'postgresql' } });
    expect(await loggedAs('traced-login')).toMatchObject({ trace_id });
    expect(collector.resource).toMatchObject({ 'service.name': 'identity-test' });
    expect(collector.headers).toMatchObject({ authorization: 'Bearer collected' });
  });

  it('starts a trace for requests without a parent, and logs its id', async () => {
    await service.get('/user/list', { token: service.admin.token, headers: { 'x-request-id': 'traced-list' } });
    const { span, inside } = await spanOf('GET /user/list');
    expect(span.parent_id).toBe('');
    expect(inside('SELECT').length + inside('WITH').length).toBeGreaterThan(0);
    expect(await loggedAs('traced-list')).toMatchObject({ trace_id: span.trace_id });
  });

  it('records a tenth of the token checks that begin a trace, and every check whose caller records it', async () => {
    const check = (headers = {}) =>
      service.post('/auth/check-token', { headers, body: { token: service.admin.token } });
    for (let index = 0; index < 200; index++) await check();
    await check({ traceparent });
    await spanOf('POST /auth/check-token', ofTrace);
    const began = collector.of('POST /auth/check-token').filter(({ parent_id: parent }) => parent === '');
    // The probability of fewer than 3 or more than 60 of 200 is 10⁻⁷.
    expect(began.length).toBeGreaterThanOrEqual(3);
    expect(began.length).toBeLessThanOrEqual(60);
  });

  it('records a job with a link to the request that enqueued it, and its mail', async () => {
    const body = { name: 'invited', email: 'invited@example.com', user_type: 'carrier', carrier_id: 'c1' };
    await service.post('/user/create', { token: service.admin.token, headers: { traceparent }, body });
    const { span, inside } = await spanOf('job send-mail', ({ links }) => links.includes(trace_id));
    expect(span).toMatchObject({ parent_id: '', kind: consumer });
    expect(span.trace_id).not.toBe(trace_id);
    await until(() => inside('mail invitation').length === 1);
  });

  it('sends its trace with webhooks', async () => {
    const url = hooks.url('/hook?key=of-the-target');
    await service.post('/webhook/create', { token: service.admin.token, body: { url, type_in: ['user.created'] } });
    await service.createUser();
    await until(() => hooks.received.length > 0);
    const { span } = await spanOf('POST', ({ kind }) => kind === client);
    expect(hooks.received[0]?.headers['traceparent']).toBe(`00-${span.trace_id}-${span.span_id}-01`);
    expect(span.attributes).toMatchObject({ 'http.response.status_code': '204' });
  });

  it('does not record requests of monitoring systems, and follows the decision of the caller', async () => {
    await service.get('/health/ready');
    await service.get('/user', {
      token: service.admin.token,
      headers: { traceparent: traceparent.replace(/1$/, '0') },
    });
    await service.get('/role/list', service.admin);
    await spanOf('GET /role/list');
    expect(collector.spans.filter(({ name }) => /health|GET \/user$/.test(name))).toEqual([]);
  });

  it('exports no login, password, token, address or carrier, not even of a failed request (O30)', async () => {
    const carrier_id = 'secret-carrier';
    const user = await service.loginAs({ carrier_id, first_name: 'Confidential' });
    const by = { ip, headers: { 'user-agent': 'secret-browser' } };
    await service.post('/auth/login', { ...by, body: { login: user.name, password: 'wrong-secret' } });
    await service.get(`/user/list?carrier_id=${carrier_id}&search=${user.name}`, { token: service.admin.token, ...by });
    await service.get(`/user/${user.user_id}`, { token: user.token, ...by });
    await service.post('/user/create', { token: service.admin.token, body: { name: user.name, email: user.email } });
    await service.post('/auth/reset_email', { ...by, body: { email: user.email } });
    const { token: reset } = await service.mailbox.take(user.email, /\/auth\/reset\//);
    await service.get(`/auth/reset/${reset}`, by);
    const headers = { ...by.headers, traceparent };
    await service.post('/auth/check-token', { ip, headers, body: { refresh_token: user.refresh_token } });
    await spanOf('GET /auth/reset/:token');
    await spanOf('POST /auth/check-token', ofTrace);
    await service.get('/role/list', { token: service.admin.token, headers: { traceparent } });
    await spanOf('GET /role/list', ofTrace);
    const values = [carrier_id, user.name, user.email, user.user_id, user.token, user.refresh_token, reset as string];
    const exported = collector.bytes.toString('latin1');
    for (const value of [...values, password, 'wrong-secret', 'Confidential', 'secret-browser', ip, 'of-the-target'])
      expect([value, exported.includes(value)]).toEqual([value, false]);
  });

  it('logs an outage of the collector once, and neither waits for it nor hangs at the end (F50)', async () => {
    // Longer than a stop may take: a stop that waited for the exporter would end with status 1.
    const instance = await ServiceProcess.beside(service, { OTEL_EXPORTER_OTLP_TIMEOUT: '600000' });
    const lines = (text: string) => instance.stdout.split('\n').filter((line) => line.includes(text));
    collector.status = 400;
    await until(async () => {
      await instance.get('/role/list', service.admin);
      return lines('accepts no spans').length > 0;
    });
    for (let index = 0; index < 20; index++) await instance.get('/role/list', service.admin);
    collector.status = 200;
    await until(async () => {
      await instance.get('/role/list', service.admin);
      return lines('accepts spans again').length > 0;
    });
    expect(lines('accepts no spans')).toHaveLength(1);
    collector.status = null;
    expect((await instance.get('/role/list', service.admin)).status).toBe(200);
    expect(await instance.stop()).toBe(0);
    collector.status = 200;
  });
});
