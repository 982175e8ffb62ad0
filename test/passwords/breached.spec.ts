import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import type { FirstAdministrator } from '../../src/auth/recovery/first-administrator.service';
import { RangeServer, type Respond, sha1, writeRanges } from '../support/logins/breached';
import { METRICS_TOKEN } from '../support/process/hash-counts';
import { parseScrape, valuesOf } from '../support/metrics';
import { password, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';

const secret = 'nine purple lanterns';
const breached = [secret, 'пароль из утечки', '🦊 stolen by foxes 🦊', 'password1234567'];
const resembling = [`${secret}!`, secret.toUpperCase()] as const;
/** A password whose line has the count 0, like a padding line. */
const padding = 'never stolen anywhere';
const counts = { ...Object.fromEntries(breached.map((one) => [one, 12])), [padding]: 0 };
const [prefix, suffix] = [sha1(secret).slice(0, 5), sha1(secret).slice(5)];
/** Valid lines, larger than any range. The first line is that of the breached password. */
const oversized = `${suffix}:12\r\n${`${'A'.repeat(35)}:1\r\n`.repeat(10_000)}`;

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
  ['redirects', (request, response) => response.writeHead(307, { location: request.url }).end()],
];

describe('breached passwords', () => {
  let directory: string;
  let ranges: RangeServer;
  let online: TestService;
  let offline: ServiceProcess;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'carrier-identity-breached-'));
    writeRanges(directory, { ...counts, [resembling[0]]: 0, [resembling[1]]: 0 });
    ranges = await RangeServer.start(counts);
    online = await TestService.start({ BREACHED_PASSWORDS: `${ranges.url}/`, METRICS_TOKEN });
    offline = await ServiceProcess.beside(online, { BREACHED_PASSWORDS: directory });
    offline.admin = online.admin;
  });
  beforeEach(() => {
    ranges.instead = null;
    ranges.requests.length = 0;
  });
  afterAll(async () => {
    await offline.stop();
    await online.close();
    await ranges.stop();
    rmSync(directory, { recursive: true });
  });

  /** Returns the number of lookups by outcome. */
  async function lookupsOf(service: ServiceProcess): Promise<{ breached: number; not_found: number; failed: number }> {
    const { text } = await service.get('/metrics', { token: METRICS_TOKEN });
    const values = valuesOf(parseScrape(text), 'carrier_identity_breached_password_lookups_total');
    const of = (outcome: string) => values[`{outcome="${outcome}"}`] ?? NaN;
    return { breached: of('breached'), not_found: of('not_found'), failed: of('failed') };
  }

  const create = (service: ServiceProcess, name: string, chosen: string, headers = {}) => {
    const body = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, password: chosen };
    return service.post('/user/create', { token: service.admin.token, headers, body });
  };
  const logIn = async (login: string, entered: string) => {
    const { status, body } = await online.post('/auth/login', { body: { login, password: entered } });
    return [status, body.code ?? body.user.must_change_password];
  };
  /** Creates a user with an old hash, or with an imported hash that was never checked by rules. */
  async function createOld(policy_checked: boolean): Promise<string> {
    const { user_id, name } = await online.createUser();
    const values = [user_id, await hashBcrypt(secret, { cost: 4 }), policy_checked];
    await online.rows('update credentials set password_hash = $2, policy_checked = $3 where user_id = $1', values);
    return name;
  }
  /**
   * Returns the number of transactions that stay open while the service waits. Takes up to 100
   * samples, so that transactions of jobs can end.
   */
  async function openTransactions(): Promise<number> {
    const open = `select from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`;
    let count = 1;
    for (let look = 0; count > 0 && look < 100; look++) count = (await online.sql.query(open)).rows.length;
    return count;
  }

  it.each(['a service', 'a folder'])('are rejected if %s lists them, unlike similar ones (P16)', async (source) => {
    const service = source === 'a folder' ? offline : online;
    const { token } = await service.loginAs();
    const before = await lookupsOf(service);
    let current_password = password;
    const change = async (new_password: string) => {
      const answer = await service.post('/auth/password', { token, body: { current_password, new_password } });
      if (answer.status === 204) current_password = new_password;
      return answer.status === 204 ? 'accepted' : answer.body.errors;
    };
    const fault = { pointer: '/new_password', code: 'password.breached', detail: 'is in a list of stolen passwords' };
    for (const chosen of breached) expect([chosen, await change(chosen)]).toEqual([chosen, [fault]]);
    for (const chosen of [...resembling, padding]) expect([chosen, await change(chosen)]).toEqual([chosen, 'accepted']);
    const { breached: rejected, not_found, failed } = before;
    expect(await lookupsOf(service)).toEqual({ breached: rejected + 4, not_found: not_found + 3, failed });
  });

  it('are found in a file without extension, but not in a missing or damaged one (P16, P19)', async () => {
    const file = join(directory, `${prefix}.txt`);
    const before = await lookupsOf(offline);
    renameSync(file, join(directory, prefix));
    expect((await create(offline, 'plain', secret)).body.errors[0].code).toBe('password.breached');
    rmSync(join(directory, prefix));
    expect((await create(offline, 'missing', secret)).status).toBe(201);
    writeFileSync(file, `${suffix}:12\r\n${suffix.slice(1)}:12`);
    expect((await create(offline, 'damaged', secret)).status).toBe(201);
    const { breached: rejected, failed } = before;
    expect(await lookupsOf(offline)).toEqual({ ...before, breached: rejected + 1, failed: failed + 2 });
    writeRanges(directory, counts);
  });

  it('are looked up by five digits of their SHA-1, without any data of the user (P18)', async () => {
    expect((await create(online, 'secretive', secret)).status).toBe(400);
    const sent = ranges.requests.map(({ method, url, rawHeaders }) => [method, url, rawHeaders.join('\n')]);
    expect(sent).toEqual([['GET', `/pwned/range/${prefix}`, expect.stringMatching(/^add-padding\ntrue$/im)]]);
    const headers = Object.entries(ranges.requests[0]?.headers ?? {});
    // Node.js sends these headers with every request. Its releases differ in them.
    const ofNode = /^(host|connection|accept(-encoding|-language)?|sec-fetch-mode|priority)$/;
    const own = Object.fromEntries(headers.filter(([name]) => !ofNode.test(name)));
    expect(own).toEqual({ 'add-padding': 'true', 'user-agent': 'carrier-identity' });
    expect(JSON.stringify(headers)).not.toMatch(/secretive|example\.com|c1/);
  });

  it('are not looked up if they are too short, common or personal (P16, P18)', async () => {
    const chosen = ['lantern', 'passwordpassword', 'nine purple c1lanterns'];
    const answers = await Promise.all(chosen.map((one) => create(online, 'c1lantern', one)));
    expect(answers.map(({ body }) => body.errors[0].code as string)).toEqual([
      ...['password.too_short', 'password.common', 'password.contains_identity'],
    ]);
    expect(ranges.requests).toEqual([]);
  });

  it('are looked up without an open transaction (P19)', async () => {
    const name = await createOld(false);
    const found: unknown[] = [];
    // Responds after the query, so that the query runs while the service waits.
    ranges.instead = async (_request, response) => {
      found.push(await openTransactions());
      response.end(`${suffix}:12`);
    };
    const answer = await create(online, 'waits', secret, { 'idempotency-key': 'breached-1' });
    expect(answer.body.errors[0].code).toBe('password.breached');
    expect(await logIn(name, secret)).toEqual([200, true]);
    expect(found).toEqual([0, 0]);
  });

  it.each(failures)('are accepted without a lookup if the range service %s (P19)', async (title, instead) => {
    const before = await lookupsOf(online);
    ranges.instead = instead;
    expect((await create(online, title.replaceAll(' ', '.'), secret)).status).toBe(201);
    expect(ranges.requests).toHaveLength(1);
    expect(await lookupsOf(online)).toEqual({ ...before, failed: before.failed + 1 });
  });

  it.each([
    ['imported', false],
    ['outdated', true],
  ])('log in with an %s hash while lookups fail, and are looked up next time (P16, P19)', async (_, checked) => {
    const name = await createOld(checked);
    for (const [, instead] of failures.filter(([title]) => /not respond|an error/.test(title))) {
      ranges.instead = instead;
      expect(await logIn(name, secret)).toEqual([200, false]);
      expect(await logIn(name, `${secret}!`)).toEqual([401, 'auth.invalid_credentials']);
    }
    ranges.instead = null;
    expect(await logIn(name, secret)).toEqual([200, true]);
  });

  it('are accepted while lookups fail, with one warning a minute without digits of the hash (P18, P19)', async () => {
    ranges.instead = (_request, response) => response.destroy();
    const instance = await ServiceProcess.beside(online);
    instance.admin = online.admin;
    for (const name of ['first', 'second']) expect((await create(instance, name, secret)).status).toBe(201);
    expect(ranges.requests).toHaveLength(2);
    await instance.stop();
    const warnings = instance.output.match(/^.*breached passwords: .*$/gm);
    expect(warnings).toEqual([expect.stringMatching(/"level":"warn".*UND_ERR_SOCKET/)]);
    for (const digits of [prefix, suffix]) expect(instance.output.toUpperCase()).not.toContain(digits);
  });

  // The last test: it removes all users.
  it('of the first administrator are looked up outside a transaction, and one is created (P19, F13)', async () => {
    await online.rows('truncate users cascade');
    const administrators = online.inside<FirstAdministrator>('FirstAdministrator');
    const found: number[] = [];
    let second: Promise<string | null> | undefined;
    // The first call waits for the service while the second one creates the administrator.
    ranges.instead = async (_request, response) => {
      if (second === undefined) {
        found.push(await openTransactions());
        second = administrators.ensure();
        await second;
      }
      response.end(`${'0'.repeat(35)}:1`);
    };
    expect(await administrators.ensure()).toBeNull();
    expect(await second).toBeNull();
    expect(found).toEqual([0]);
    expect(await online.rows('select name from users')).toEqual([{ name: 'administrator' }]);
  });
});
