import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { version } from '../../../src/common/project';
import { query } from '../../support/embedded-postgres-sandbox';
import { Mailbox } from '../../support/mailbox';
import { rawRequest } from '../../support/raw-request';
import { ServiceProcess } from '../../support/service-process';
import { spellings } from '../../support/spellings';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

const canary = (name: string) => `${name}+/ ${randomBytes(12).toString('hex')}`;
/** Inputs that try to add a line to the log. */
const forged = '{"level":"info","msg":"forged"}';
const breaks = ['\n', '\r\n', '\r', '\u2028', '\u2029', '\u0085', '\u001b[2K\u001b[1G', '"}\n', '\\n', '%0a'];

describe('the log at LOG_LEVEL=debug', () => {
  const secrets: Record<string, string> = {
    'administrator password': canary('first'),
    'user password': canary('second'),
    'new password': canary('third'),
    'wrong password': canary('fourth'),
    'application secret': canary('application-secret-0123456789'),
    'SMTP password': canary('smtp').replace(/\W/g, '-'),
  };
  const dataDir = mkdtempSync(join(tmpdir(), 'carrier-identity-logs-'));
  const mailbox = new Mailbox();
  let database: TestDatabase;
  let service: ServiceProcess;
  let lines: { level: string; msg: string; version: string; instance: string; route?: string }[];

  beforeAll(async () => {
    database = await createTestDatabase();
    await mailbox.start();
    const url = new URL(database.url);
    url.password ||= canary('database').replace(/\W/g, '-');
    // The password of a server in TEST_DATABASE_URL may be part of other words.
    if (url.password.length >= 12) secrets['database password'] = decodeURIComponent(url.password);
    service = await ServiceProcess.start({
      LOG_LEVEL: 'debug',
      DATABASE_URL: url.href,
      APP_SECRET: secrets['application secret'] ?? '',
      ADMIN_EMAIL: 'admin@example.com',
      ADMIN_PASSWORD: secrets['administrator password'] ?? '',
      SMTP_URL: mailbox.url.replace('//', `//mailer:${secrets['SMTP password']}@`),
      PUBLIC_URL: 'http://localhost:3000',
      DATA_DIR: dataDir,
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
      REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
    });
    await useEverything().finally(() => service.stop());
    lines = service.stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as (typeof lines)[number]);
  });
  afterAll(async () => {
    await mailbox.stop();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function useEverything(): Promise<void> {
    const admin = await login('admin', 'admin@example.com', secrets['administrator password']);
    for (const password of [secrets['wrong password'], secrets['administrator password']?.slice(0, -1)])
      await login(null, 'admin@example.com', password);
    const person = { user_type: 'carrier', carrier_id: 'c1', name: 'ada', email: 'ada@example.com' };
    await service.send('POST', '/user/create', {
      token: admin.token,
      body: {
        ...person,
        password: secrets['user password'],
        must_change_password: false,
        nonsense: secrets['user password'],
      },
    });
    await service.send('POST', '/user/create', {
      token: admin.token,
      body: { ...person, password: secrets['user password'], must_change_password: false },
    });
    const ada = await login('ada', 'ada', secrets['user password']);
    await service.send('GET', `/user?access_token=${ada.token}`, { headers: { 'x-auth-token': ada.token } });
    await service.send('GET', '/user', { headers: { authorization: `Bearer ${ada.token}x` } });
    await service.send('POST', '/auth/check-token', { body: { token: ada.token } });
    const refreshed = await service.send('POST', '/auth/check-token', { body: { refresh_token: ada.refresh_token } });
    secrets['second refresh token'] = refreshed.body.refresh_token;
    await service.send('POST', '/auth/password', {
      token: ada.token,
      body: { current_password: secrets['wrong password'], new_password: secrets['new password'] },
    });
    await service.send('POST', '/auth/email', {
      token: ada.token,
      body: { email: 'ada2@example.com', current_password: secrets['user password'] },
    });
    secrets['e-mail token'] = (await mailbox.take('ada2@example.com')).token ?? '';
    await service.send('GET', `/auth/email/${secrets['e-mail token']}`);
    await service.send('POST', `/auth/email/${secrets['e-mail token']}`);
    await useKey(admin.token);
    await useExportLink(admin.token);
    await service.send('POST', '/auth/reset_email', { body: { email: 'ada2@example.com' } });
    const token = (await mailbox.take('ada2@example.com', /auth\/reset/)).token ?? '';
    secrets['reset token'] = token;
    await service.send('GET', `/auth/reset/${token}`);
    await service.send('GET', `/auth/reset/${token}`, {
      headers: { accept: 'text/html', referer: `http://localhost/auth/reset/${token}` },
    });
    await service.send('PUT', `/auth/reset/${token}`);
    await service.send('GET', `/auth/reset/${token}/x`);
    await service.send('GET', `/auth/reset/${token}?${token}=${token}`);
    await service.send('GET', `//auth/reset/${token}%20`);
    await service.send('POST', `/auth/reset/${token}`, { body: `{"password":"${secrets['new password']}` });
    await service.send('POST', `/auth/reset/${token}`, { body: { password: secrets['new password'] } });
    await rawRequest(
      Number(new URL(service.url).port),
      `GET /auth/reset/${token} HTTP/9.9\r\nHost: x\r\nAuthorization: Bearer ${ada.token}\r\n\r\n`,
    );
    await inject(admin.token);
    await failMails(admin.token);
    await failDatabase(admin.token);
  }

  async function login(
    name: string | null,
    user: string,
    password: unknown,
  ): Promise<{ token: string; refresh_token: string }> {
    const { body } = await service.send('POST', '/auth/login', { body: { login: user, password } });
    if (name === null) return { token: '', refresh_token: '' };
    secrets[`access token of ${name}`] = body.access_token;
    secrets[`signature of ${name}`] = String(body.access_token).split('.')[2] ?? '';
    secrets[`refresh token of ${name}`] = body.refresh_token;
    return { token: body.access_token, refresh_token: body.refresh_token };
  }

  /** Uses a link to an export twice, and with other methods and paths. */
  async function useExportLink(token: string): Promise<void> {
    const { body } = await service.send('POST', '/user/export/link?name=ada', { token });
    const path = new URL(body.url as string).pathname;
    secrets['export token'] = path.split('/').at(-1) ?? '';
    await service.send('PUT', path);
    await service.send('GET', `${path}/x`);
    await service.send('GET', `${path}?${secrets['export token']}`);
    await service.send('GET', path);
    await service.send('GET', path, { headers: { referer: path } });
  }

  /** Uses an API key correctly, and in every place where it does not belong. */
  async function useKey(token: string): Promise<void> {
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const { body } = await service.send('POST', '/auth/key/create', {
      token,
      body: { name: 'billing', permissions: ['user:read'], expires_at },
    });
    const { key, key_id } = body as { key: string; key_id: string };
    secrets['key'] = key;
    await service.send('GET', '/user/list', { token: key });
    await service.send('GET', `/user/list?q=${key}&${key}=1`, { token: key });
    await service.send('GET', '/user', { headers: { 'x-auth-token': key } });
    await service.send('GET', '/user', { token: `${key}x` });
    await service.send('POST', '/auth/check-token', { body: { token: key } });
    await service.send('POST', '/auth/key/create', {
      token,
      body: { name: key, permissions: [key], expires_at: key, [key]: key },
    });
    await service.send('DELETE', `/auth/key/${key_id}`, { token });
    await service.send('DELETE', `/auth/key/${key}`, { token });
    await service.send('GET', '/user/list', { token: key });
  }

  async function inject(token: string): Promise<void> {
    for (const end of breaks) {
      const text = `x${end}${forged}`;
      const printable = Buffer.from(text)
        .toString('latin1')
        .replace(/[^\t\x20-\x7e\x80-\xff]/g, '\t');
      await service.send('POST', '/auth/login', { body: { login: text, password: text } });
      await service.send('GET', `/user/list?q=${encodeURIComponent(text)}&${encodeURIComponent(text)}=1`, { token });
      await service.send('GET', `/${encodeURIComponent(text)}`);
      await service.send('GET', '/user', {
        token,
        headers: { 'user-agent': printable, 'x-request-id': printable, 'x-forwarded-for': printable },
      });
      await service.send('POST', '/auth/reset_email', { body: { email: `${text}@example.com` } });
      await service.send('POST', '/user/create', { token, body: { [text]: text, attributes: { [text]: text } } });
    }
  }

  /** Lets the mail server reject a recipient, and stops it: both jobs fail and log the failure. */
  async function failMails(token: string): Promise<void> {
    const invite = (name: string) =>
      service.send('POST', '/user/create', {
        token,
        body: { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` },
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
    const { pathname } = new URL(database.url);
    const name = pathname.slice(1);
    const server = process.env['TEST_SERVER_URL'] ?? '';
    await query(server, `alter database ${name} with allow_connections false`);
    await query(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    await service.until(
      async () =>
        (await service.send('POST', '/auth/login', { body: { login: 'ada', password: secrets['new password'] } }))
          .status >= 500,
    );
    await query(server, `alter database ${name} with allow_connections true`);
    await service.until(async () => (await service.send('GET', '/user', { token })).status === 200);
    await service.until(() => service.stdout.includes('database: connected again'));
    await query(database.url, 'alter table credentials rename to credentials_hidden');
    await service.send('POST', '/auth/login', { body: { login: 'ada', password: secrets['new password'] } });
    await query(database.url, 'alter table credentials_hidden rename to credentials');
  }

  it('contains no password, token or reset path in any encoding (O9)', () => {
    const written = service.stdout + service.stderr;
    expect(Object.values(secrets).filter((secret) => secret.length < 12)).toEqual([]);
    expect(Object.keys(secrets).length).toBeGreaterThan(14);
    const found = Object.entries(secrets).flatMap(([name, secret]) =>
      spellings(secret)
        .filter((spelling) => written.includes(spelling))
        .map(() => name),
    );
    expect(found).toEqual([]);
    expect(written).not.toMatch(/\/auth\/(reset|email)\/(?!:token)[^"\s]/);
    expect(written).not.toMatch(/authorization|x-auth-token|\$argon2|Bearer /i);
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
    expect(lines.map(({ route }) => route)).toEqual(
      expect.arrayContaining(['/auth/reset/:token', '/auth/email/:token', '/auth/login', '/user/create']),
    );
  });

  it('names a failed mail by its job and a keyed hash of the recipient, never by the address (O9)', () => {
    const failed = lines.filter((line) => 'recipient_hash' in line);
    const failure = {
      level: 'warn',
      job_id: expect.stringMatching(/^\d+$/),
      mail: 'invitation',
      error: expect.any(String),
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
    const instance = lines[0]?.instance;
    expect(instance).toMatch(new RegExp(`^.+:${service.pid}$`));
    expect(
      lines.filter((line) => !levels.includes(line.level) || line.version !== version || line.instance !== instance),
    ).toEqual([]);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'info', msg: 'carrier-identity stops: SIGTERM', reason: 'SIGTERM' }),
    );
  });

  it('contains one line of JSON per event, so that no input can add a line (O11)', () => {
    expect(service.stdout.split('\n').filter((line) => line !== '' && !line.startsWith('{'))).toEqual([]);
    expect(lines.map(({ msg }) => msg)).toContainEqual(
      expect.stringMatching(/^carrier-identity \d+\.\d+\.\d+ listens on 127\.0\.0\.1:\d+$/),
    );
    expect(service.stderr).toBe('');
    expect(lines.filter(({ msg }) => msg === 'forged')).toEqual([]);
    expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(service.answered);
    // eslint-disable-next-line no-control-regex -- looks for control characters
    expect(service.stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f\u0085\u2028\u2029]/);
  });
});
