import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres';
import { type Ended, runBuilt } from '../support/process/built-program';
import { HookReceiver } from '../support/network/hook-receiver';
import { createKey } from '../support/data/keys';
import { mailedResetToken } from '../support/data/links';
import { query } from '../support/process/embedded-postgres-sandbox';
import { asSuperuser } from '../support/process/replicated-postgres';
import { Authenticator, firstStep } from '../support/logins/second-factors';
import { adminEmail, appSecret, password, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { until } from '../support/until';

describe('a database that was copied to another server', () => {
  let service: TestService;
  const receiver = new HookReceiver();
  beforeAll(async () => {
    await receiver.start();
    service = await TestService.start({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  });
  afterAll(async () => {
    await service.close();
    await receiver.stop();
  });

  const afterRestore = (...args: string[]): Promise<Ended> => {
    const { DATABASE_URL, APP_SECRET } = service.config;
    return runBuilt('src/cli/cli.js', { DATABASE_URL, APP_SECRET }, ['after-restore', ...args]);
  };
  /** Makes the server another one with smaller ids, and lets the instance connect again. */
  const copy = async () => {
    await service.sql.query(`update database_server set system_identifier = '1'`);
    await service.sql.query(`
      insert into events (event_type, actor_type, target_type, target_id, tx)
      values ('user.changed', 'system', 'user', gen_random_uuid(), '1000000000')`);
    await service.sql.query(`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database() and application_name = 'carrier-identity notifications'`);
    await service.until(async () => (await login()).status === 503);
  };
  const login = () => service.post('/auth/login', { body: { login: adminEmail, password } });
  const cursor = async ({ token } = service.admin) =>
    (await service.get('/user/list?per_page=1', { token })).body.changes_cursor as string;
  const follow = (after: string, { token } = service.admin) =>
    service.get(`/change/list?after=${after}&type_in=user.created`, { token });
  const created = async (after: string) =>
    ((await follow(after)).body.items as { target_id: string }[]).map(({ target_id }) => target_id);

  it('ends what the backup brought back, and only then serves requests (F36)', async () => {
    const body = { url: receiver.url('/hook'), type_in: ['user.created'] };
    await service.post('/webhook/create', { token: service.admin.token, body });
    const user = await service.loginAs();
    const reset = await mailedResetToken(service, user.email);
    const protectedUser = await service.createUser();
    const app = await Authenticator.enrol(service, protectedUser.user_id);
    const challenge = await firstStep(service, protectedUser.name);
    const { key } = await createKey(service, ['user:read']);
    const after = await cursor();
    const { keys } = (await service.get('/.well-known/jwks.json')).body;
    // A transaction of another test on the same server can hold the feed back. A webhook that is
    // created meanwhile also gets earlier changes.
    const isReceived = (id: string) => receiver.received.some(({ json }) => json.data['target_id'] === id);
    await until(() => [user, protectedUser].every(({ user_id }) => isReceived(user_id)));

    await copy();
    expect((await service.get('/user', user)).status).toBe(503);
    expect((await service.post(`/auth/reset/${reset}`, { body: { password } })).status).toBe(503);
    expect(service.output).toContain('The database was copied to another server');
    expect(service.output).toContain('`npm run cli -- after-restore`');

    const { code, stdout, stderr } = await afterRestore();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Ended sessions: \d+\. Voided links: 1\. Suspended API keys: 1\.$/m);
    await service.until(async () => (await login()).status === 200);
    for (const { token, refresh_token } of [user, service.admin]) {
      expect((await service.get('/user', { token })).status).toBe(401);
      expect((await service.post('/auth/check-token', { body: { refresh_token } })).status).toBe(401);
    }
    expect((await service.get('/user/list', { token: key })).status).toBe(401);
    const link = await service.post(`/auth/reset/${reset}`, { body: { password: `${password} 2` } });
    expect(link.body.code).toBe('reset.token_invalid');
    const step = await service.post('/auth/second-factor', { body: { challenge, code: app.code() } });
    expect(step.body.code).toBe('auth.challenge_invalid');
    expect((await service.get('/.well-known/jwks.json')).body.keys).not.toEqual(expect.arrayContaining(keys));

    service.admin = await service.login(adminEmail);
    expect((await follow(after)).body).toMatchObject({ status: 410, code: 'change.cursor_expired' });
    const next = await cursor();
    const { user_id } = await service.createUser();
    await until(() => isReceived(user_id));
    await until(async () => (await created(next)).length > 0);
    expect(await created(next)).toEqual([user_id]);
    const { body: log } = await service.get('/audit/list?event_type=database.restored', service.admin);
    expect(log.items).toMatchObject([{ changes: { links: { after: 1 }, keys: { after: 1 } } }]);
  });

  it('keeps sessions and cursors with --nothing-lost', async () => {
    const after = await cursor();
    await copy();
    expect(await afterRestore('--nothing-lost')).toMatchObject({ code: 0, stderr: '' });
    await service.until(async () => (await service.get('/user', service.admin)).status === 200);
    const { user_id } = await service.createUser();
    await until(async () => (await created(after)).includes(user_id));
  });
});

describe('the start on a new timeline', () => {
  const home = mkdtempSync(join(tmpdir(), 'carrier-identity-restored-'));
  const [original, backup] = [join(home, 'original'), join(home, 'backup')];
  beforeAll(() => execFileSync('chmod', ['755', home]));
  afterAll(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

  /** Recovers a server with settings, and starts the service on it. */
  async function run(
    dataDir: string,
    settings: string | null,
    work: (service: ServiceProcess, server: EmbeddedPostgres) => Promise<void>,
  ) {
    if (settings !== null) {
      await appendFile(join(dataDir, 'postgres/postgresql.auto.conf'), settings);
      await writeFile(join(dataDir, 'postgres/recovery.signal'), '');
    }
    const server = await startEmbeddedPostgres(dataDir, { settings: { fsync: 'off' } });
    const secrets = { APP_SECRET: appSecret, ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password };
    const service = new ServiceProcess({ DATABASE_URL: server.url, ...secrets });
    await work(service, server).finally(async () => {
      await service.kill();
      await server.stop();
    });
  }

  it('refuses after a restore to a point until after-restore, and continues after a failover (F36)', async () => {
    let token = '';
    await run(original, null, async (service) => {
      await service.ready();
      ({ token } = await service.login(adminEmail));
    });
    execFileSync('cp', ['-a', original, backup]);
    await run(original, null, async (service, server) => {
      await query(asSuperuser(server), `select pg_create_restore_point('before_logout')`);
      await service.ready();
      await service.post('/auth/logout', { token });
    });
    const restored = `restore_command = 'cp ${original}/postgres/pg_wal/%f %p'
      recovery_target_name = 'before_logout'
      recovery_target_action = 'promote'\n`;
    await run(backup, restored, async (service, { url: DATABASE_URL }) => {
      expect(await service.exit).toBe(1);
      expect(service.stderr).toContain('The database was restored to before_logout.');
      const end = await runBuilt('src/cli/cli.js', { DATABASE_URL, APP_SECRET: appSecret }, ['after-restore']);
      expect(end).toMatchObject({ code: 0, stderr: '' });
    });
    let next = '';
    await run(backup, null, async (service) => {
      await service.ready();
      expect((await service.get('/user', { token })).status).toBe(401);
      ({ token: next } = await service.login(adminEmail));
    });
    await run(backup, `restore_command = 'false'\nrecovery_target_name = ''\n`, async (service, server) => {
      await service.ready();
      expect(await query(server.url, 'select timeline from database_server')).toEqual([{ timeline: 3 }]);
      expect((await service.get('/user', { token: next })).status).toBe(200);
    });
  });
});
