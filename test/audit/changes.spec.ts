import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { Client } from 'pg';
import { checkHistories } from '../support/change-histories';
import startServer from '../support/global-setup';
import stopServer from '../support/global-teardown';
import { createKey } from '../support/keys';
import { type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { until } from '../support/until';

interface Change {
  change_id: string;
  type: string;
  target_type: string;
  target_id: string;
  carrier_id: string | null;
  version?: number;
  fields: string[];
  values?: Record<string, unknown>;
}

/** The fields of a user that the copy of a test must have. */
interface CopiedUser {
  user_id: string;
  name: string;
  locale: string | null;
  version: number;
  deleted?: boolean;
}

/** Returns the fields to compare of the users that are not deleted, sorted by id. */
function shown(users: CopiedUser[]): unknown {
  return users
    .filter(({ deleted }) => deleted !== true)
    .map(({ user_id, name, locale, version }) => [user_id, name, locale, version].join())
    .sort();
}

/** Longer than each test needs. */
const waitSeconds = 30;

describe('the change feed', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    // A server of its own: transactions of other tests would hold the feed back.
    await startServer();
    service = await TestService.start();
    admin = service.admin;
  });
  afterAll(async () => {
    await service.close();
    await stopServer();
  });

  const list = async (query: string, { token }: Pick<TestLogin, 'token'> = admin) =>
    (await service.get(`/change/list?${query}`, { token })).body as {
      items: Change[];
      next_cursor: string;
      behind_seconds: number;
    };

  /** Returns the cursor after all changes up to now. That of a list is up to a second older. */
  async function now(): Promise<string> {
    let after = (await service.get('/user/list?per_page=1', admin)).body.changes_cursor as string;
    for (;;) {
      const { items, next_cursor } = await list(`after=${after}&per_page=1000`);
      after = next_cursor;
      if (items.length === 0) return after;
    }
  }

  /** Reads the changes after a cursor up to one of a type: other tests can hold it back. */
  async function readUntil(type: string, after: string, query = '', by: Pick<TestLogin, 'token'> = admin) {
    const items: Change[] = [];
    let cursor = after;
    await until(async () => {
      const page = await list(`after=${cursor}&${query}`, by);
      items.push(...page.items);
      cursor = page.next_cursor;
      return items.some((item) => item.type === type);
    });
    return { items, cursor };
  }

  async function waiting(count: number): Promise<void> {
    await until(async () => (await service.inside<{ count: () => number }>('ChangeWaits').count()) === count);
  }

  it('misses, repeats and reorders no change, whatever transactions do meanwhile (C2)', async () => {
    const other = await ServiceProcess.beside(service);
    await checkHistories(service, other, 25);
    await other.stop();
  });

  it('names what changed about users, sessions, roles and keys, without values', async () => {
    const after = await now();
    const user = await service.createUser({ carrier_id: 'named', password: 'a long enough password 1' });
    await service.patch(`/user/${user.user_id}`, { ...admin, body: { locale: 'de', attributes: { secret: 1 } } });
    await service.post('/role/create', {
      ...admin,
      body: { name: 'named_role', user_types: ['system'], permissions: [] },
    });
    await service.delete('/role/named_role', admin);
    const { key_id } = await createKey(service, ['user:read']);
    const { items } = await readUntil('key.created', after);
    expect(items).toMatchObject([
      { type: 'user.created', target_type: 'user', target_id: user.user_id, carrier_id: 'named', version: 1 },
      { type: 'user.changed', target_id: user.user_id, version: 2, fields: expect.arrayContaining(['locale']) },
      { type: 'role.created', target_type: 'role', target_id: 'named_role' },
      { type: 'role.deleted', target_type: 'role', target_id: 'named_role' },
      { type: 'key.created', target_type: 'key', target_id: key_id },
    ]);
    expect(JSON.stringify(items)).not.toMatch(/secret|@example/);
    const withValues = (await readUntil('key.created', after, 'include=values')).items;
    expect(withValues[1]?.values).toEqual({ locale: 'de' });
    expect(withValues.map(({ values }) => values === undefined)).toEqual([false, false, true, true, true]);
  });

  it('shows a scope its users and sessions only, at once and after a wait (C1)', async () => {
    const after = await now();
    const names = ['own_carrier', 'other_carrier'];
    const key = await createKey(service, ['change:read'], { carrier_scope: ['own_carrier'] });
    const login = { token: key.key };
    const [own, other] = await Promise.all(names.map((carrier_id) => service.loginAs({ carrier_id })));
    const wait = service.get(`/change/list?after=${await now()}&wait=${waitSeconds}&type=session.ended`, login);
    await waiting(1);
    await service.delete(`/auth/session/${other!.session_id}`, admin);
    await service.delete(`/auth/session/${own!.session_id}`, admin);
    const { body } = await wait;
    expect(body.items).toMatchObject([
      { type: 'session.ended', target_id: own!.session_id, carrier_id: 'own_carrier' },
    ]);
    const { items } = await readUntil('session.ended', after, '', login);
    expect(new Set(items.map(({ target_type }) => target_type))).toEqual(new Set(['user', 'session']));
    expect(new Set(items.map(({ carrier_id }) => carrier_id))).toEqual(new Set(['own_carrier']));
    for (const [status, query] of [
      [403, 'include=values'],
      [200, 'carrier_id=other_carrier'],
    ] as const)
      expect(await service.get(`/change/list?after=${after}&${query}`, login)).toMatchObject({ status });
    expect((await list(`after=${after}&carrier_id=other_carrier`, login)).items).toEqual([]);
    const none = await createKey(service, ['user:read']);
    expect((await service.get('/change/list', { token: none.key })).status).toBe(403);
  });

  it('shows nothing to a waiting caller whose session, role or API key was revoked meanwhile (C1)', async () => {
    const role = { name: 'feed_reader', user_types: ['system'], permissions: ['change:read'] };
    await service.post('/role/create', { ...admin, body: role });
    const reader = () => service.loginAs({ user_type: 'system', roles: [role.name] });
    const [ended, demoted, key] = [await reader(), await reader(), await createKey(service, ['change:read'])];
    const revocations: [Pick<TestLogin, 'token'>, number, () => Promise<unknown>][] = [
      [ended, 401, () => service.delete(`/auth/session/${ended.session_id}`, admin)],
      [demoted, 403, () => service.patch(`/role/${role.name}`, { ...admin, body: { permissions: [] } })],
      [{ token: key.key }, 401, () => service.delete(`/auth/key/${key.key_id}`, admin)],
    ];
    for (const [caller, status, revoke] of revocations) {
      expect((await service.get('/change/list', caller)).status).toBe(200);
      const wait = service.get(`/change/list?after=${await now()}&wait=${waitSeconds}&type=user.created`, caller);
      await waiting(1);
      await revoke();
      await service.createUser({});
      expect((await wait).body.items).toEqual([]);
      expect((await service.get('/change/list', caller)).status).toBe(status);
    }
  });

  it('delivers a change to many waiting callers without a connection for each', async () => {
    const after = await now();
    const query = `wait=${waitSeconds}&type=user.created`;
    const waits = [service.get(`/change/list?after=${after}&${query}`, admin)];
    await waiting(1);
    // Callers who ask again need no query.
    const { next_cursor } = await list(`after=${after}&wait=1&type=role.created`);
    for (let i = 1; i < 200; i++) waits.push(service.get(`/change/list?after=${next_cursor}&${query}`, admin));
    await waiting(200);
    const [{ count = 0 } = {}] = await service.rows<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where datname = current_database()`,
    );
    expect(count).toBeLessThan(20);
    const { user_id } = await service.createUser({});
    for (const { body } of await Promise.all(waits)) expect(body.items).toMatchObject([{ target_id: user_id }]);
  });

  it('shows a change once older transactions have ended, says how far it is behind, and wakes then', async () => {
    const after = await now();
    const client = new Client({ connectionString: service.config.DATABASE_URL });
    await client.connect();
    try {
      await client.query('begin; select pg_current_xact_id()');
      const { user_id } = await service.createUser({ carrier_id: 'held' });
      const query = `after=${after}&carrier_id=held`;
      await until(async () => (await list(query)).behind_seconds > 0);
      const held = await list(query);
      expect(held.items).toEqual([]);
      const wait = service.get(`/change/list?${query}&wait=${waitSeconds}`, admin);
      await waiting(1);
      await client.query('rollback');
      expect((await wait).body.items).toMatchObject([{ type: 'user.created', target_id: user_id }]);
    } finally {
      await client.end();
    }
  });

  it('keeps a copy of the users equal to the table, by the sample of docs/changes.md', async () => {
    const page = readFileSync('docs/changes.md', 'utf8');
    const [, sample = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
    const report = 'setInterval(() => console.log(JSON.stringify([...copy.values()])), 100);';
    const { key } = await createKey(service, ['user:read', 'change:read']);
    const child = spawn(
      process.execPath,
      ['--input-type=module', '--eval', `const copy = new Map();${report}${sample}`],
      {
        env: { PATH: process.env['PATH'], IDENTITY_URL: service.url, IDENTITY_KEY: key },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let copied: unknown = null;
    createInterface(child.stdout).on('line', (line) => (copied = shown(JSON.parse(line) as CopiedUser[])));
    try {
      const table = async () => shown((await service.get('/user/list?per_page=500', admin)).body.items as CopiedUser[]);
      await until(async () => isDeepStrictEqual(copied, await table()));
      const [changed, deleted, restored] = await Promise.all(
        [1, 2, 3].map(() => service.createUser({ carrier_id: 'copied' })),
      );
      await service.patch(`/user/${changed!.user_id}`, { ...admin, body: { locale: 'fr' } });
      for (const user of [deleted, restored]) await service.delete(`/user/${user!.user_id}`, admin);
      await service.post(`/user/${restored!.user_id}/restore`, admin);
      await until(async () => isDeepStrictEqual(copied, await table()));
    } finally {
      child.kill();
    }
  });

  it('continues an export of users from before its first row', async () => {
    const user = await service.createUser({ carrier_id: 'exported' });
    const { headers } = await service.get('/user/export?carrier_id=exported', admin);
    await service.delete(`/user/${user.user_id}`, admin);
    const { items } = await readUntil('user.deleted', String(headers['changes-cursor']), 'carrier_id=exported');
    expect(items.at(-1)).toMatchObject({ target_id: user.user_id, version: 2 });
  });

  it('moves a filtered reader on after 10,000 changes that do not match', async () => {
    const after = await now();
    await service.rows(`
      insert into events (event_type, actor_type, target_type, target_id)
      select 'user.changed', 'system', 'user', uuid_v7()
      from generate_series(1, 10100)`);
    const { user_id } = await service.createUser({ carrier_id: 'rare' });
    let page = await list(`after=${after}&carrier_id=rare`);
    await until(async () => {
      if (page.items.length === 0) page = await list(`after=${page.next_cursor}&carrier_id=rare`);
      return page.items.length > 0;
    });
    expect(page.items).toMatchObject([{ target_id: user_id }]);
  });

  it('rejects forged and expired cursors', async () => {
    const cursor = await now();
    const forged = `${cursor.slice(0, -3)}AAA`;
    expect((await service.get(`/change/list?after=${forged}`, admin)).body.code).toBe('page.cursor_invalid');
    const event_id = '00000000-0000-0000-0000-000000000000';
    const old = { tx: '3', event_id, at: new Date(Date.now() - 31 * 86_400_000) };
    const ofAnotherServer = { tx: '999999999999', event_id, at: new Date() };
    for (const place of [old, ofAnotherServer]) {
      const expired = await service.inside<{ encode: (at: object) => string }>('ChangeCursors').encode(place);
      const answer = await service.get(`/change/list?after=${expired}`, admin);
      expect([answer.status, answer.body.code]).toEqual([410, 'change.cursor_expired']);
    }
  });
});
