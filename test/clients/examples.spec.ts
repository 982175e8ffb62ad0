import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import Database from 'libsql';
import { codeAt, currentStep, enrolApp, forgetSteps } from '../support/logins/factors';
import { createKey } from '../support/data/keys';
import { mailedResetToken } from '../support/data/links';
import { password, TestService } from '../support/service';
import { until } from '../support/until';

const root = resolve(__dirname, '../..');
const running = new Set<ChildProcess>();

/** Starts an example. Returns it with its address, which it prints; a sync prints none. */
async function start(name: string, env: Record<string, string>): Promise<{ child: ChildProcess; url: string }> {
  const program = join(root, 'examples/dist', name);
  const child = spawn(process.execPath, [program], { env: { PATH: process.env['PATH'], PORT: '0', ...env } });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  if (name.startsWith('sync')) return { child, url: '' };
  await until(() => {
    if (child.exitCode !== null) throw new Error(output);
    return output.includes('listens on ');
  });
  return { child, url: /listens on (\S+)/.exec(output)?.[1] ?? '' };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
  running.delete(child);
}

describe('the examples', () => {
  let service: TestService;
  let env: Record<string, string>;

  beforeAll(async () => {
    execFileSync(process.execPath, [join(root, 'node_modules/tsc7/bin/tsc'), '-p', 'examples'], { cwd: root });
    service = await TestService.start({ ACCESS_TOKEN_TTL_SECONDS: '60' });
    const permissions = ['change:read', 'role:read', 'user:read', 'login:forward'];
    const { key } = await createKey(service, permissions);
    env = { IDENTITY_URL: service.url, IDENTITY_ISSUER: 'http://localhost:3000', IDENTITY_KEY: key };
    const role = { name: 'clerk', user_types: ['carrier'], permissions: ['billing:read'] };
    await service.post('/role/create', { token: service.admin.token, body: role });
  });
  afterAll(async () => {
    for (const child of running) await kill(child);
    await service.close();
  });

  it('billing shows the bills of the carrier to a user with the permission, until the session ends', async () => {
    const { child, url } = await start('billing/main.js', env);
    const get = async (token?: string) =>
      fetch(`${url}/bills`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
    const clerk = await service.loginAs({ roles: ['clerk'] });
    const other = await service.loginAs();
    const bills = await get(clerk.token);
    expect([bills.status, await bills.json()]).toEqual([
      200,
      { items: [{ bill_id: 1, carrier_id: 'c1', amount: 1200 }] },
    ]);
    expect([(await get()).status, (await get(other.token)).status]).toEqual([401, 403]);
    await service.post('/auth/logout', { token: clerk.token, body: {} });
    await until(async () => (await get(clerk.token)).status === 401, 20_000);
    await kill(child);
  });

  describe('portal', () => {
    let portal: { child: ChildProcess; url: string };
    beforeAll(async () => {
      portal = await start('portal/main.js', { ...env, TRUST_PROXY: '127.0.0.1' });
    });
    afterAll(() => kill(portal.child));

    /** A browser with one cookie, which follows no redirects. */
    function browser(address = '203.0.113.7') {
      let cookie = '';
      return async (path: string, fields?: Record<string, string>) => {
        const response = await fetch(portal.url + path, {
          method: fields === undefined ? 'GET' : 'POST',
          headers: { cookie, 'x-forwarded-for': address, 'user-agent': 'Browser/1.0' },
          redirect: 'manual',
          ...(fields && { body: new URLSearchParams(fields) }),
        });
        cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
        return { status: response.status, to: response.headers.get('location'), text: await response.text() };
      };
    }

    it('logs a user in from the address of the browser, refreshes once at a time, and logs out', async () => {
      const { name, user_id } = await service.createUser();
      const visit = browser();
      const wrong = await visit('/login', { login: name, password: 'wrong' });
      expect([wrong.status, wrong.text]).toEqual([401, expect.stringContaining('<p>')]);
      expect(await visit('/login', { login: name, password })).toMatchObject({ status: 303, to: '/' });
      const sessions = () =>
        service.rows(`select ip, user_agent, ended_reason from sessions where user_id = $1`, [user_id]);
      expect(await sessions()).toEqual([{ ip: '203.0.113.7', user_agent: 'Browser/1.0', ended_reason: null }]);
      // Each token is refreshed at once: it expires within the minute that the portal wants left.
      for (let round = 0; round < 3; round++) {
        const pages = await Promise.all(Array.from({ length: 5 }, () => visit('/')));
        for (const page of pages)
          expect(page).toMatchObject({ status: 200, text: expect.stringContaining(`Hello ${name}`) });
      }
      expect(await visit('/logout', {})).toMatchObject({ status: 303, to: '/login' });
      expect(await sessions()).toEqual([expect.objectContaining({ ended_reason: 'logout' })]);
      expect(await visit('/')).toMatchObject({ status: 303, to: '/login' });
    });

    it('asks for the code of the second factor, and asks again after a wrong code', async () => {
      const login = await service.loginAs();
      const { secret } = await enrolApp(service, login);
      const visit = browser();
      expect(await visit('/login', { login: login.name, password })).toMatchObject({ status: 303, to: '/code' });
      expect((await visit('/code', { code: '000000' })).status).toBe(401);
      await forgetSteps(service);
      const code = codeAt(secret, await currentStep(service));
      expect(await visit('/code', { code })).toMatchObject({ status: 303, to: '/' });
      expect((await visit('/')).text).toContain(`Hello ${login.name}`);
    });

    it('shows the login page when an administrator ended the session', async () => {
      const { name, user_id } = await service.createUser();
      const visit = browser();
      await visit('/login', { login: name, password });
      await service.delete(`/auth/session/all?user_id=${user_id}`, { token: service.admin.token });
      expect(await visit('/')).toMatchObject({ status: 303, to: '/login' });
    });

    it('sets a new password with a mailed link, and explains why a password is rejected', async () => {
      const { name, email } = await service.createUser();
      const token = await mailedResetToken(service, email);
      const visit = browser();
      expect((await visit(`/reset/${token}`)).text).toContain(`action="/reset/${token}"`);
      const refused = await visit(`/reset/${token}`, { password: 'short' });
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('at least 15')]);
      const chosen = 'a completely different phrase';
      expect(await visit(`/reset/${token}`, { password: chosen })).toMatchObject({ status: 303, to: '/login' });
      expect((await visit(`/reset/${token}`)).status).toBe(404);
      expect(await visit('/login', { login: name, password: chosen })).toMatchObject({ status: 303, to: '/' });
    });
  });

  it('sync keeps a copy of the users, even if users change while it is killed and restarted', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-sync-'));
    const file = join(directory, 'users.db');
    const copy = () => {
      const db = new Database(file, { readonly: true });
      try {
        return db.prepare('select user_id, name, email, carrier_id from users order by user_id').raw().all();
      } finally {
        db.close();
      }
    };
    // The copy can be locked.
    const isCurrent = async () => matches().catch(() => false);
    const matches = async () => {
      const wanted = await service.sql.query({
        text: 'select user_id, name, email, carrier_id from users where deleted_at is null order by user_id',
        rowMode: 'array',
      });
      return JSON.stringify(copy()) === JSON.stringify(wanted.rows);
    };
    const change = (user_id: string, body: object) =>
      service.patch(`/user/${user_id}`, { token: service.admin.token, body });
    try {
      const users = [await service.createUser(), await service.createUser(), await service.createUser()];
      const [first, second, third] = users.map(({ user_id }) => user_id) as [string, string, string];
      const { child } = await start('sync/main.mjs', { ...env, DATABASE: file });
      await until(isCurrent);
      await change(first, { name: 'renamed' });
      await service.delete(`/user/${second}`, { token: service.admin.token });
      await service.createUser();
      await until(isCurrent);
      await kill(child);
      expect(copy()).toContainEqual(expect.arrayContaining([first, 'renamed']));
      await change(first, { name: 'renamed-again' });
      await service.delete(`/user/${third}`, { token: service.admin.token });
      expect(await isCurrent()).toBe(false);
      const { child: again } = await start('sync/main.mjs', { ...env, DATABASE: file });
      await until(isCurrent);
      await kill(again);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
