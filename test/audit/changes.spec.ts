import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { checkHistories } from '../support/data/change-histories';
import { confirmApp } from '../support/logins/factors';
import startServer from '../support/global-setup';
import stopServer from '../support/global-teardown';
import { createKey } from '../support/data/keys';
import { password, type TestLogin, TestService } from '../support/service';
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
}

/** Returns the fields to compare of users, sorted by id. */
function shown(users: CopiedUser[]): unknown {
  return users.map(({ user_id, name, locale, version }) => [user_id, name, locale, version].join()).sort();
}

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

  it('misses, repeats and reorders no change, with any concurrent transactions (C2)', async () => {
    await checkHistories(service, 25);
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
    const { body: shown } = await service.get(`/user/${user.user_id}`, admin);
    const { attributes, last_login_ip, ...values } = shown;
    expect([attributes, last_login_ip]).toEqual([{ secret: 1 }, null]);
    for (const change of withValues.slice(0, 2)) expect(change.values).toEqual(values);
    expect(withValues.slice(2).every((change) => change.values === undefined)).toBe(true);
  });

  it('shows a scope its users and their sessions only (C1)', async () => {
    const after = await now();
    const key = await createKey(service, ['change:read'], { carrier_scope: ['own_carrier'] });
    const login = { token: key.key };
    for (const carrier_id of ['other_carrier', 'own_carrier']) {
      const { session_id } = await service.loginAs({ carrier_id });
      await service.delete(`/auth/session/${session_id}`, admin);
    }
    const { items } = await readUntil('session.ended', after, '', login);
    expect(items.map(({ type, carrier_id }) => `${type} ${String(carrier_id)}`)).toEqual([
      'user.created own_carrier',
      'session.ended own_carrier',
    ]);
    expect((await list(`after=${after}&carrier_id=other_carrier`, login)).items).toEqual([]);
    expect((await service.get(`/change/list?after=${after}&include=values`, login)).status).toBe(403);
    const none = await createKey(service, ['user:read']);
    expect((await service.get('/change/list', { token: none.key })).status).toBe(403);
  });

  it('shows a user as the caller may see it now: without factors, and not after a deletion (C1)', async () => {
    const after = await now();
    const user = await service.loginAs({ carrier_id: 'factors', phone: '+4312345678' });
    const totp = { token: user.token, body: { name: 'My secret phone' } };
    await confirmApp(service, user, (await service.post('/auth/factor/totp', totp)).body);
    const enrolled = (await readUntil('factor.enrolled', after, 'carrier_id=factors&include=values')).items;
    expect(enrolled.at(-1)?.values).toMatchObject({ name: user.name, phone: '+4312345678' });
    await service.delete(`/user/${user.user_id}`, admin);
    const { items } = await readUntil('user.deleted', after, 'carrier_id=factors&include=values');
    expect(items.length).toBeGreaterThan(2);
    expect(items.filter(({ values }) => values !== undefined)).toEqual([]);
    expect(JSON.stringify([...enrolled, ...items])).not.toContain('secret phone');
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
      // Raises the version, although the event names no field.
      const { token } = await service.login(changed!.name);
      const passwords = { current_password: password, new_password: 'another long password 12' };
      expect((await service.post('/auth/password', { token, body: passwords })).status).toBe(204);
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

  it('begins with the oldest transaction, also if it is not the one that began first (C2)', async () => {
    await service.rows(`
      insert into events (event_type, actor_type, target_type, target_id, carrier_id, occurred_at, tx)
      values
        ('user.changed', 'system', 'user', uuid_v7(), 'oldest', now() - interval '29 days', '4'),
        ('user.unlocked', 'system', 'user', uuid_v7(), 'oldest', now() - interval '29 days' + interval '1 s', '3')`);
    const { items } = await list('per_page=2');
    expect(items.map(({ type }) => type)).toEqual(['user.unlocked', 'user.changed']);
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
