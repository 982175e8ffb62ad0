import { randomBytes } from 'node:crypto';
import { version } from '../../src/platform/project';
import { query } from '../support/process/embedded-postgres-sandbox';
import { Mailbox } from '../support/network/mailbox';
import { rawRequest } from '../support/network/raw-request';
import { ServiceProcess } from '../support/process/service-process';
import { spellings } from '../support/contract/spellings';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

interface Line {
  level: string;
  msg: string;
  version: string;
  instance: string;
  reqId?: string;
  route?: string;
  status?: number;
  code?: string;
}

const canary = (name: string) => `${name}+/ ${randomBytes(12).toString('hex')}`;
/** Inputs that try to add a line to the log. */
const forged = '{"level":"info","msg":"forged"}';
const breaks = ['\n', '\r\n', '\r', '\u2028', '\u2029', '\u0085', '\u001b[2K\u001b[1G', '"}\n', '\\n', '%0a'];
const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
/** Ids of the requests of `askAndBeDenied`. */
const asked = ['allowed', 'user', 'key', 'invalid'];

/** Returns the lines of the log, which consists of nothing else. */
const linesOf = ({ stdout }: ServiceProcess): Line[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

/** One service does all that could reveal a secret, and then stops. The tests read its log. */
describe('the log', () => {
  const secrets: Record<string, string> = {
    'administrator password': canary('first'),
    'user password': canary('second'),
    'new password': canary('third'),
    'wrong password': canary('fourth'),
    'application secret': canary('application-secret-0123456789'),
    'SMTP password': canary('smtp').replace(/\W/g, '-'),
  };
  const mailbox = new Mailbox();
  let database: TestDatabase;
  let env: Record<string, string>;
  let service: ServiceProcess;
  let lines: Line[];
  /** ids of the user and of the API key whose requests are denied */
  let ids: { user_id: string; key_id: string };

  beforeAll(async () => {
    database = await createTestDatabase();
    await mailbox.start();
    const url = new URL(database.url);
    url.password ||= canary('database').replace(/\W/g, '-');
    // The password of a server in TEST_DATABASE_URL may be part of other words.
    if (url.password.length >= 12) secrets['database password'] = decodeURIComponent(url.password);
    env = {
      LOG_LEVEL: 'debug',
      DATABASE_URL: url.href,
      APP_SECRET: secrets['application secret'] ?? '',
      ADMIN_EMAIL: 'admin@example.com',
      ADMIN_PASSWORD: secrets['administrator password'] ?? '',
      SMTP_URL: mailbox.url.replace('//', `//mailer:${secrets['SMTP password']}@`),
      PUBLIC_URL: 'http://localhost:3000',
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
      REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
    };
    service = await ServiceProcess.start(env);
    await useEverything().finally(() => service.stop());
    lines = linesOf(service);
  });
  afterAll(async () => {
    await mailbox.stop();
    await database.drop();
  });

  const send = (method: string, path: string, token: string, body?: unknown) =>
    service.send(method, path, { token, ...(body === undefined ? {} : { body }) });

  async function login(name: string, password = ''): Promise<{ token: string; refresh_token: string }> {
    const { status, body } = await service.post('/auth/login', { body: { login: name, password } });
    if (status !== 200) return { token: '', refresh_token: '' };
    secrets[`access token of ${name}`] = body.access_token;
    secrets[`signature of ${name}`] = String(body.access_token).split('.')[2] ?? '';
    secrets[`refresh token of ${name}`] = body.refresh_token;
    return { token: body.access_token, refresh_token: body.refresh_token };
  }

  async function useEverything(): Promise<void> {
    const { token } = await login('admin@example.com', secrets['administrator password']);
    for (const wrong of [secrets['wrong password'], secrets['administrator password']?.slice(0, -1)])
      await login('admin@example.com', wrong);
    const person = { user_type: 'carrier', carrier_id: 'c1', name: 'ada', email: 'ada@example.com' };
    const fields = { ...person, password: secrets['user password'], must_change_password: false };
    await send('POST', '/user/create', token, { ...fields, nonsense: secrets['user password'] });
    const { user_id } = (await send('POST', '/user/create', token, fields)).body;
    const ada = await login('ada', secrets['user password']);
    await service.get(`/user?access_token=${ada.token}`, { headers: { 'x-auth-token': ada.token } });
    await service.get('/user', { headers: { authorization: `Bearer ${ada.token}x` } });
    await service.post('/auth/check-token', { body: { token: ada.token } });
    const refreshed = await service.post('/auth/check-token', { body: { refresh_token: ada.refresh_token } });
    secrets['second refresh token'] = refreshed.body.refresh_token;
    const change = { current_password: secrets['wrong password'], new_password: secrets['new password'] };
    await send('POST', '/auth/password', ada.token, change);
    const proposal = { email: 'ada2@example.com', current_password: secrets['user password'] };
    await send('POST', '/auth/email', ada.token, proposal);
    secrets['e-mail token'] = (await mailbox.take('ada2@example.com')).token ?? '';
    await service.get(`/auth/email/${secrets['e-mail token']}`);
    await service.post(`/auth/email/${secrets['e-mail token']}`);
    ids = { user_id, key_id: await useKey(token, ada.token) };
    await useExportLink(token);
    await useResetLink(ada.token);
    await inject(token);
    await failMails(token);
    await failDatabase(token);
  }

  /** Uses an API key correctly, and in every place where it does not belong. Returns its id. */
  async function useKey(token: string, userToken: string): Promise<string> {
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const wanted = { name: 'billing', permissions: ['user:read'], expires_at };
    const { key, key_id } = (await send('POST', '/auth/key/create', token, wanted)).body as Record<string, string>;
    secrets['key'] = key ?? '';
    await service.get('/user/list', { token: key });
    await askAndBeDenied(service, { user: userToken, key: key ?? '', admin: token });
    await service.get(`/user/list?q=${key}&${key}=1`, { token: key });
    await service.get('/user', { headers: { 'x-auth-token': key ?? '' } });
    await service.get('/user', { token: `${key}x` });
    await service.post('/auth/check-token', { body: { token: key } });
    const misplaced = { name: key, permissions: [key], expires_at: key, [String(key)]: key };
    await send('POST', '/auth/key/create', token, misplaced);
    await send('DELETE', `/auth/key/${key_id}`, token);
    await send('DELETE', `/auth/key/${key}`, token);
    await service.get('/user/list', { token: key });
    return key_id ?? '';
  }

  /** Sends one allowed and three rejected requests, with known ids and a trace. */
  async function askAndBeDenied(to: ServiceProcess, tokens: Record<'user' | 'key' | 'admin', string>): Promise<void> {
    const headers = (id: string) => ({ 'x-request-id': id, traceparent: `00-${trace_id}-00f067aa0ba902b7-01` });
    const missing = '00000000-0000-4000-8000-000000000001';
    const statuses = [
      await to.get('/user', { token: tokens.user, headers: headers('allowed') }),
      await to.get('/audit/list', { token: tokens.user, headers: headers('user') }),
      await to.delete(`/user/${missing}`, { token: tokens.key, headers: headers('key') }),
      await to.post('/user/create', { token: tokens.admin, headers: headers('invalid'), body: {} }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([200, 403, 403, 400]);
  }

  /** Uses a link to an export twice, and with other methods and paths. */
  async function useExportLink(token: string): Promise<void> {
    const { body } = await send('POST', '/user/export/link?name=ada', token);
    const path = new URL(body.url as string).pathname;
    secrets['export token'] = path.split('/').at(-1) ?? '';
    await service.send('PUT', path);
    for (const url of [`${path}/x`, `${path}?${secrets['export token']}`, path]) await service.get(url);
    await service.get(path, { headers: { referer: path } });
  }

  /** Uses a reset link, and misuses it in each part of a request. */
  async function useResetLink(other: string): Promise<void> {
    await service.post('/auth/reset_email', { body: { email: 'ada2@example.com' } });
    const token = (await mailbox.take('ada2@example.com', /auth\/reset/)).token ?? '';
    secrets['reset token'] = token;
    const path = `/auth/reset/${token}`;
    await service.get(path, { headers: { accept: 'text/html', referer: `http://localhost${path}` } });
    await service.send('PUT', path);
    for (const url of [path, `${path}/x`, `${path}?${token}=${token}`, `/${path}%20`]) await service.get(url);
    await service.post(path, { body: `{"password":"${secrets['new password']}` });
    await service.post(path, { body: { password: secrets['new password'] } });
    await rawRequest(service.port, `GET ${path} HTTP/9.9\r\nHost: x\r\nAuthorization: Bearer ${other}\r\n\r\n`);
  }

  async function inject(token: string): Promise<void> {
    for (const end of breaks) {
      const text = `x${end}${forged}`;
      const inUrl = encodeURIComponent(text);
      const latin = Buffer.from(text).toString('latin1');
      const printable = latin.replace(/[^\t\x20-\x7e\x80-\xff]/g, '\t');
      await service.post('/auth/login', { body: { login: text, password: text } });
      await service.get(`/user/list?q=${inUrl}&${inUrl}=1`, { token });
      await service.get(`/${inUrl}`);
      const headers = { 'user-agent': printable, 'x-request-id': printable, 'x-forwarded-for': printable };
      await service.get('/user', { token, headers });
      await service.post('/auth/reset_email', { body: { email: `${text}@example.com` } });
      await send('POST', '/user/create', token, { [text]: text, attributes: { [text]: text } });
    }
  }

  /** Lets the mail server reject a recipient, and stops it: both jobs fail and log the failure. */
  async function failMails(token: string): Promise<void> {
    const invite = (name: string) =>
      send('POST', '/user/create', token, {
        ...{ user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` },
      });
    mailbox.unknown.add('carl@example.com');
    await invite('carl');
    await service.until(() => service.stdout.includes('no mailbox of'));
    await mailbox.stop();
    await invite('bob');
    await service.until(() => service.stdout.includes('ECONNREFUSED'));
  }

  /** Terminates the connections, rejects new ones for a while, and then removes a table. */
  async function failDatabase(token: string): Promise<void> {
    const name = new URL(database.url).pathname.slice(1);
    const server = process.env['TEST_SERVER_URL'] ?? '';
    const tryLogin = () => service.post('/auth/login', { body: { login: 'ada', password: secrets['new password'] } });
    await query(server, `alter database ${name} with allow_connections false`);
    await query(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    await service.until(async () => (await tryLogin()).status >= 500);
    await query(server, `alter database ${name} with allow_connections true`);
    await service.until(async () => (await service.get('/user', { token })).status === 200);
    await service.until(() => service.stdout.includes('database: connected again'));
    await query(database.url, 'alter table credentials rename to credentials_hidden');
    await tryLogin();
    await query(database.url, 'alter table credentials_hidden rename to credentials');
  }

  it('contains no password, token or reset path in any encoding (O9)', () => {
    const written = service.stdout + service.stderr;
    expect(Object.values(secrets).filter((secret) => secret.length < 12)).toEqual([]);
    expect(Object.keys(secrets).length).toBeGreaterThan(14);
    const found = Object.entries(secrets).filter(([, secret]) =>
      spellings(secret).some((spelling) => written.includes(spelling)),
    );
    expect(found.map(([name]) => name)).toEqual([]);
    expect(written).not.toMatch(/\/auth\/(reset|email)\/(?!:token)[^"\s]/);
    // The paths of the log include the one of the metadata.
    expect(written.replaceAll('oauth-authorization-server', '')).not.toMatch(
      /authorization|x-auth-token|\$argon2|Bearer /i,
    );
  });

  it('contains the provoked faults: failed mails, a lost database, a broken statement (O9)', () => {
    expect(lines.filter(({ level }) => level === 'error').length).toBeGreaterThan(1);
    expect(lines.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining([
        'service.internal_error',
        'service.database_unavailable',
        expect.stringMatching(/^jobs: .*mail server: not reachable/),
        expect.stringMatching(/^database: lost the connection: ./),
        expect.stringMatching(/^database: connected again after \d+ s$/),
      ]),
    );
    const routes = ['/auth/reset/:token', '/auth/email/:token', '/auth/login', '/user/create'];
    expect(lines.map(({ route }) => route)).toEqual(expect.arrayContaining(routes));
  });

  it('names a failed mail by its job and a keyed hash of the recipient, never by the address (O9)', () => {
    const failed = lines.filter((line) => 'recipient_hash' in line);
    const failure = {
      ...{ level: 'warn', mail: 'invitation', error: expect.any(String), job_id: expect.stringMatching(/^\d+$/) },
      recipient_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
    };
    expect(failed).toEqual(failed.map(() => expect.objectContaining(failure)));
    expect(failed).toContainEqual(expect.objectContaining({ error: expect.stringContaining('ECONNREFUSED') }));
    for (const name of ['job_id', 'recipient_hash'])
      expect(new Set(failed.map((line) => line[name as 'msg'])).size).toBe(2);
    expect(service.stdout).not.toMatch(/(bob|carl)@example\.com/i);
  });

  it('names level, version and instance in each line, and the reason of the stop', () => {
    const levels = ['debug', 'info', 'warn', 'error'];
    const instance = `:${service.pid}`;
    const others = lines.filter(
      (line) => !levels.includes(line.level) || line.version !== version || !line.instance.endsWith(instance),
    );
    expect(others).toEqual([]);
    const stop = { level: 'info', msg: 'carrier-identity stops: SIGTERM', reason: 'SIGTERM' };
    expect(lines).toContainEqual(expect.objectContaining(stop));
  });

  it('contains one line of JSON per event, so that no input can add a line (O11)', () => {
    expect(lines.map(({ msg }) => msg)).toContainEqual(
      expect.stringMatching(/^carrier-identity \d+\.\d+\.\d+ listens on 127\.0\.0\.1:\d+$/),
    );
    expect(service.stderr).toBe('');
    expect(lines.filter(({ msg }) => msg === 'forged')).toEqual([]);
    expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(service.answered);
    // eslint-disable-next-line no-control-regex -- looks for control characters
    expect(service.stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f\u0085\u2028\u2029]/);
  });

  it('names actor, route, error code and trace of each denied request, and the code of any other (O12)', () => {
    const requests = lines.filter(({ msg, reqId }) => msg === 'request' && asked.includes(reqId ?? ''));
    expect(requests.map(({ reqId, level, status, code }) => [reqId, level, status, code])).toEqual([
      ['allowed', 'info', 200, undefined],
      ['user', 'warn', 403, 'access.denied'],
      ['key', 'warn', 403, 'access.denied'],
      ['invalid', 'info', 400, 'request.invalid'],
    ]);
    const denied = {
      ...{ level: 'warn', version, trace_id, status: 403, code: 'access.denied', ip: '127.0.0.1', msg: 'request' },
      instance: expect.stringMatching(/^.+:\d+$/),
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      ms: expect.any(Number),
    };
    const { user_id, key_id } = ids;
    expect([requests[1], requests[2]]).toEqual([
      { ...denied, reqId: 'user', method: 'GET', route: '/audit/list', user_id },
      { ...denied, reqId: 'key', method: 'DELETE', route: '/user/:user_id', key_id },
    ]);
  });

  it('contains denied requests and no others at LOG_LEVEL=warn (O12)', async () => {
    const quiet = await ServiceProcess.start({ ...env, LOG_LEVEL: 'warn' });
    const { body: admin } = await quiet.post('/auth/login', {
      body: { login: 'admin@example.com', password: secrets['administrator password'] },
    });
    const { body: user } = await quiet.post('/auth/login', {
      body: { login: 'ada', password: secrets['new password'] },
    });
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const wanted = { name: 'reader', permissions: ['user:read'], expires_at };
    const { body: made } = await quiet.post('/auth/key/create', { token: admin.access_token, body: wanted });
    await askAndBeDenied(quiet, { user: user.access_token, key: made.key, admin: admin.access_token });
    expect(await quiet.stop()).toBe(0);
    const requests = linesOf(quiet).filter(({ msg }) => msg === 'request');
    expect(requests.map(({ reqId }) => reqId)).toEqual(['user', 'key']);
  });
});
