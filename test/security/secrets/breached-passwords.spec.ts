import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { Pool } from 'pg';
import { loadConfig } from '../../../src/platform/config/config';
import { FirstAdministrator } from '../../../src/auth/recovery/first-administrator.service';
import { createApp } from '../../../src/app.setup';
import { RangeServer, type Respond, sha1, writeRanges } from '../../support/breached';
import { runBuilt, startServiceProcess } from '../../support/built-program';
import { parseScrape, valuesOf } from '../../support/metrics';
import { adminEmail, appSecret, password, TestService } from '../../support/service';
import { createTestDatabase } from '../../support/test-database';

const secret = 'nine purple lanterns';
const breached = [secret, 'пароль из утечки', '🦊 stolen by foxes 🦊', 'password1234567'];
const resembling = [`${secret}!`, secret.toUpperCase()] as const;
/** Has the count 0, like padding. */
const padding = 'never stolen anywhere';
const counts = { ...Object.fromEntries(breached.map((one) => [one, 12])), [padding]: 0 };
const [prefix, suffix] = [sha1(secret).slice(0, 5), sha1(secret).slice(5)];
const METRICS_TOKEN = 'prometheus-0123456789-abcdefghijklmnop';
/**
 * Returns the number of transactions that stay open while the service waits. Transactions of jobs
 * end meanwhile, so only the last of many samples counts.
 */
async function waitingIn(sql: Pool): Promise<number> {
  const open = `select count(*)::int from pg_stat_activity
    where datname = current_database() and state like 'idle in transaction%'`;
  let count = 1;
  for (let look = 0; count > 0 && look < 100; look++) count = (await sql.query<{ count: number }>(open)).rows[0]!.count;
  return count;
}
/** Valid lines with the breached password in front, larger than any range. */
const oversized = `${suffix}:12\r\n${`${'A'.repeat(35)}:1\r\n`.repeat(10_000)}`;

describe('breached passwords', () => {
  let directory: string;
  let ranges: RangeServer;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'carrier-identity-breached-'));
    writeRanges(directory, { ...counts, [resembling[0]]: 0, [resembling[1]]: 0 });
    ranges = await RangeServer.start(counts);
  });
  afterEach(() => (ranges.instead = null));
  afterAll(async () => {
    await ranges.stop();
    rmSync(directory, { recursive: true });
  });

  /** Returns the number of lookups of this process by outcome. */
  async function lookupsOf(service: TestService): Promise<{ breached: number; not_found: number; failed: number }> {
    const { text } = await service.get('/metrics', { token: METRICS_TOKEN });
    const values = valuesOf(parseScrape(text), 'carrier_identity_breached_password_lookups_total');
    const of = (outcome: string) => values[`{outcome="${outcome}"}`] ?? NaN;
    return { breached: of('breached'), not_found: of('not_found'), failed: of('failed') };
  }

  const create = (service: TestService, name: string, chosen: string) => {
    const body = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, password: chosen };
    return service.post('/user/create', { token: service.admin.token, body });
  };

  /** Gives a user an old hash, or an imported one that no rule was applied to. */
  async function keepOld(
    service: TestService,
    user_id: string,
    chosen: string,
    policy_checked: boolean,
  ): Promise<void> {
    await service.rows('update credentials set password_hash = $2, policy_checked = $3 where user_id = $1', [
      ...[user_id, await hashBcrypt(chosen, { cost: 4 }), policy_checked],
    ]);
  }

  describe.each(['a service', 'a folder'])('in %s', (source) => {
    let service: TestService;
    beforeAll(async () => {
      const BREACHED_PASSWORDS = source === 'a folder' ? directory : `${ranges.url}/`;
      service = await TestService.start({ BREACHED_PASSWORDS, METRICS_TOKEN });
    });
    afterAll(() => service.close());

    it('rejects breached passwords, and accepts passwords that resemble them (P16)', async () => {
      const { token } = await service.loginAs();
      const before = await lookupsOf(service);
      const change = (new_password: string, current_password = password) =>
        service.post('/auth/password', { token, body: { current_password, new_password } });
      for (const chosen of breached) {
        const { status, body } = await change(chosen);
        expect([chosen, status, body.errors]).toEqual([
          chosen,
          400,
          [{ pointer: '/new_password', code: 'password.breached', detail: 'is in a list of stolen passwords' }],
        ]);
      }
      expect((await change(resembling[0])).status).toBe(204);
      expect((await change(resembling[1], resembling[0])).status).toBe(204);
      expect((await change(padding, resembling[1])).status).toBe(204);
      const { breached: rejected, not_found, failed } = before;
      expect(await lookupsOf(service)).toEqual({ breached: rejected + 4, not_found: not_found + 3, failed });
    });
  });

  it('finds a range in a file without extension (P16)', async () => {
    renameSync(join(directory, `${prefix}.txt`), join(directory, prefix));
    const service = await TestService.start({ BREACHED_PASSWORDS: directory });
    expect((await create(service, 'plain', secret)).body.errors[0].code).toBe('password.breached');
    renameSync(join(directory, prefix), join(directory, `${prefix}.txt`));
    await service.close();
  });

  describe('over HTTP', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await TestService.start({ BREACHED_PASSWORDS: ranges.url, METRICS_TOKEN });
    });
    afterAll(() => service.close());

    it('sends five digits of the SHA-1 of a password, and nothing about the user (P18)', async () => {
      ranges.requests.length = 0;
      expect((await create(service, 'secretive', secret)).status).toBe(400);
      const sent = ranges.requests.map(({ method, url, rawHeaders }) => [method, url, rawHeaders.join('\n')]);
      expect(sent).toEqual([['GET', `/pwned/range/${prefix}`, expect.stringMatching(/^add-padding\ntrue$/im)]]);
      const headers = Object.entries(ranges.requests[0]?.headers ?? {});
      // Headers of every request of Node, which differ between its releases.
      const ofNode = /^(host|connection|accept(-encoding|-language)?|sec-fetch-mode|priority)$/;
      expect(Object.fromEntries(headers.filter(([name]) => !ofNode.test(name)))).toEqual({
        'add-padding': 'true',
        'user-agent': 'carrier-identity',
      });
      expect(JSON.stringify(headers)).not.toMatch(/secretive|example\.com|c1/);
    });

    it('looks up no password that is too short, common or personal (P16, P18)', async () => {
      ranges.requests.length = 0;
      const codes = ['lantern', 'passwordpassword', 'nine purple c1lanterns'].map(async (chosen) => {
        const { body } = await create(service, 'c1lantern', chosen);
        return body.errors[0].code;
      });
      expect(await Promise.all(codes)).toEqual([
        ...['password.too_short', 'password.common', 'password.contains_identity'],
      ]);
      expect(ranges.requests).toEqual([]);
    });

    it('holds no transaction while it waits for the service (P19)', async () => {
      const { user_id, name } = await service.createUser();
      await keepOld(service, user_id, secret, false);
      const found: unknown[] = [];
      // Responds after the query, so that the query runs while the service waits.
      ranges.instead = async (_request, response) => {
        found.push(await waitingIn(service.sql));
        response.end(`${suffix}:12`);
      };
      const headers = { 'idempotency-key': 'breached-1' };
      const body = { user_type: 'carrier', carrier_id: 'c1', name: 'waits', email: 'waits@example.com' };
      const { token } = service.admin;
      const answer = await service.post('/user/create', { token, headers, body: { ...body, password: secret } });
      expect(answer.body.errors[0].code).toBe('password.breached');
      const login = await service.post('/auth/login', { body: { login: name, password: secret } });
      expect([login.status, login.body.user.must_change_password]).toEqual([200, true]);
      expect(found).toEqual([0, 0]);
    });

    const failures: [string, Respond][] = [
      ['does not respond', () => undefined],
      ['stops within a range', (_request, response) => response.write(`${suffix}:12\r\n`)],
      ['ends within a range', (_request, response) => response.write(suffix, () => response.destroy())],
      ['returns an error', (_request, response) => response.writeHead(500).end(`${suffix}:12`)],
      ['returns no range', (_request, response) => response.end()],
      ['returns a page', (_request, response) => response.end(`<html>\n${suffix}:12\n</html>`)],
      ['returns NTLM hashes', (_request, response) => response.end(`${suffix.slice(8)}:12`)],
      ['returns an unfinished line', (_request, response) => response.end(`${suffix}:12\r\n${suffix}`)],
      ['returns too much', (_request, response) => response.end(oversized)],
      [
        'returns too much in a small archive',
        (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(oversized)),
      ],
      [
        'redirects to another service',
        (request, response) => {
          ranges.instead = null;
          response.writeHead(307, { location: request.url }).end();
        },
      ],
    ];

    it.each(failures)('sets a password without a lookup if the range service %s (P19)', async (title, instead) => {
      const before = await lookupsOf(service);
      ranges.instead = instead;
      ranges.requests.length = 0;
      expect((await create(service, title.replaceAll(' ', '.'), secret)).status).toBe(201);
      expect(ranges.requests).toHaveLength(1);
      expect(await lookupsOf(service)).toEqual({ ...before, failed: before.failed + 1 });
    });

    it.each([
      ['an imported password', false],
      ['a password with an outdated hash', true],
    ])(
      'logs in with %s while the range service fails, and looks it up at the next login (P16, P19)',
      async (_title, checked) => {
        const enter = async (login: string, entered: string) => {
          const { status, body } = await service.post('/auth/login', { body: { login, password: entered } });
          return [status, body.code ?? body.user.must_change_password];
        };
        const { name, user_id } = await service.createUser();
        await keepOld(service, user_id, secret, checked);
        for (const [, instead] of failures.filter(([title]) => /not respond|an error/.test(title))) {
          ranges.instead = instead;
          expect(await enter(name, secret)).toEqual([200, false]);
          expect(await enter(name, `${secret}!`)).toEqual([401, 'auth.invalid_credentials']);
        }
        ranges.instead = null;
        expect(await enter(name, secret)).toEqual([200, true]);
      },
    );
  });

  it('sets a password without the lookup if its file is missing or damaged (P19)', async () => {
    const service = await TestService.start({ BREACHED_PASSWORDS: directory, METRICS_TOKEN });
    const file = join(directory, `${prefix}.txt`);
    const before = await lookupsOf(service);
    rmSync(file);
    expect((await create(service, 'missing', secret)).status).toBe(201);
    writeFileSync(file, `${suffix}:12\r\n${suffix.slice(1)}:12`);
    expect((await create(service, 'damaged', secret)).status).toBe(201);
    expect(await lookupsOf(service)).toEqual({ ...before, failed: before.failed + 2 });
    writeRanges(directory, counts);
    await service.close();
  });

  it('creates the first administrator outside a transaction, and only once (P19, F13)', async () => {
    const database = await createTestDatabase();
    const environment = { ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password, BREACHED_PASSWORDS: ranges.url };
    const config = { DATABASE_URL: database.url, APP_SECRET: appSecret, LOG_LEVEL: 'silent', ...environment };
    const app = await createApp(loadConfig(config));
    const administrators = app.get(FirstAdministrator);
    const sql = new Pool({ connectionString: database.url, max: 1 });
    const found: unknown[] = [];
    let second: Promise<string | null> | undefined;
    // The first call waits for the service while the second one creates the administrator.
    ranges.instead = async (_request, response) => {
      ranges.instead = null;
      found.push(await waitingIn(sql));
      second = administrators.ensure();
      await second;
      response.end(`${'0'.repeat(35)}:1`);
    };
    expect(await administrators.ensure()).toBeNull();
    expect(await second).toBeNull();
    expect(found).toEqual([0]);
    await sql.end();
    await app.close();
    await database.drop();
  });

  it('warns once a minute while lookups fail, without a digit of the hash (P18, P19)', async () => {
    const database = await createTestDatabase();
    ranges.instead = (_request, response) => response.destroy();
    const service = await startServiceProcess({
      DATABASE_URL: database.url,
      APP_SECRET: appSecret,
      ADMIN_EMAIL: adminEmail,
      ADMIN_PASSWORD: secret,
      BREACHED_PASSWORDS: ranges.url,
    });
    ranges.requests.length = 0;
    const post = async (path: string, body: object, token = '') => {
      const headers = { 'content-type': 'application/json', 'x-auth-token': token };
      const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: response.status, body: (await response.json()) as { access_token: string } };
    };
    const { access_token } = (await post('/auth/login', { login: adminEmail, password: secret })).body;
    for (const name of ['first', 'second']) {
      const user = { user_type: 'system', name, email: `${name}@example.com`, password: secret };
      expect((await post('/user/create', user, access_token)).status).toBe(201);
    }
    expect(ranges.requests).toHaveLength(2);
    await service.stop();
    await database.drop();
    const warnings = service.output().match(/^.*breached passwords: .*$/gm);
    expect(warnings).toEqual([expect.stringContaining('"level":"warn"')]);
    expect(warnings?.[0]).toContain('UND_ERR_SOCKET');
    for (const digits of [prefix, suffix]) expect(service.output().toUpperCase()).not.toContain(digits);
  });

  it('does not start if the folder is missing, and names the setting (P16, F27)', async () => {
    const DATABASE_URL = 'postgres://user@127.0.0.1:1/nowhere';
    const environment = { DATABASE_URL, APP_SECRET: appSecret, BREACHED_PASSWORDS: join(directory, 'missing') };
    const { code, stdout, stderr } = await runBuilt('src/main.js', environment);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('BREACHED_PASSWORDS: must be');
  });
});
