import type { LiveLoginsService } from '../../src/auth/tokens/live-logins.service';
import { type UserField, userFields } from '../../src/users/user-fields';
import { enrolApp } from '../support/logins/factors';
import { createKey } from '../support/data/keys';
import { password, type TestAnswer, type TestLogin, TestService } from '../support/service';

const limit = 60;

/** Another value for the columns of a type, as SQL. */
const otherOfType: Record<UserField['type'], string> = {
  uuid: 'user_id',
  text: `'other'`,
  'text[]': `'{other}'`,
  boolean: 'true',
  jsonb: `'{"tier": "gold"}'`,
  'cidr[]': `'{192.0.2.0/24}'`,
  inet: `'192.0.2.9'`,
  timestamptz: `'2020-01-01'`,
  integer: 'version + 1',
};
/** Another value for the columns that need a specific one, as SQL. */
const otherValues: Partial<Record<string, string>> = {
  user_type: `'carrier'`,
  status: `'disabled'`,
  second_factors: `'{totp}'`,
  second_factor_required_from: `'2099-01-01'`,
  locked_until: `'2099-01-01'`,
};
/** The columns that a response from memory may show as they were a minute ago (ADR 10). */
const mayBeOld = ['last_login_at', 'last_login_ip', 'last_seen_at', 'locked_until'];

describe('users and themselves', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('editor', '{system}', '{user:update,key:manage}'), ('reader', '{system}', '{user:read}')`);
  });
  afterAll(() => service.close());
  beforeEach(() => service.rows('delete from rate_limits'));

  const rename = ({ token }: Pick<TestLogin, 'token'>, user_id: string, first_name: string) =>
    service.patch(`/user/${user_id}`, { token, body: { first_name } });

  describe('the limit of own changes', () => {
    const events = (user_id: string, event_type: string) =>
      service.rows('select 1 from events where target_id = $1 and event_type = $2', [user_id, event_type]);
    const almost = () => service.rows('update rate_limits set hits = $1', [limit - 1]);
    const assertLimited = ({ status, body, headers }: TestAnswer) => {
      expect([status, body.code]).toEqual([429, 'request.rate_limited']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(3_000);
      expect([headers['ratelimit-policy'], headers['ratelimit']]).toEqual([
        '"self-changes";q=60;w=3600',
        `"self-changes";r=0;t=${String(headers['retry-after'])}`,
      ]);
    };

    it('rejects the 61st change within an hour, but counts no change without effect (B34)', async () => {
      const user = await service.loginAs();
      expect((await rename(user, user.user_id, 'First')).status).toBe(200);
      for (let n = 1; n < 5; n++) expect((await rename(user, user.user_id, 'First')).status).toBe(200);
      expect(await service.rows('select hits from rate_limits')).toEqual([{ hits: 1 }]);
      await almost();
      expect((await rename(user, user.user_id, 'Last')).status).toBe(200);
      assertLimited(await rename(user, user.user_id, 'More'));
      expect((await service.get('/user', user)).body.first_name).toBe('Last');
      expect((await rename(service.admin, user.user_id, 'By an administrator')).status).toBe(200);
      await service.rows(`update rate_limits set ends_at = ends_at - interval '1 hour'`);
      expect((await rename(user, user.user_id, 'Next hour')).status).toBe(200);
    });

    it('accepts and records 60 of 80 parallel changes of own fields (B34)', async () => {
      const user = await service.loginAs();
      const names = Array.from({ length: 80 }, (_, n) => `Name ${n}`);
      const answers = await Promise.all(names.map((name) => rename(user, user.user_id, name)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(limit);
      expect(await events(user.user_id, 'user.changed')).toHaveLength(limit);
    });

    it('counts API keys as their creator, and never limits changes of other users (B34)', async () => {
      const editor = await service.loginAs({ user_type: 'system', roles: ['editor'] });
      const { key } = await createKey(service, ['user:update', 'key:manage'], {}, editor);
      const other = await service.createUser();
      await service.rows('delete from rate_limits');
      expect((await rename({ token: key }, editor.user_id, 'By the key')).status).toBe(200);
      await almost();
      expect((await rename(editor, editor.user_id, 'By the user')).status).toBe(200);
      for (const token of [editor.token, key]) {
        assertLimited(await rename({ token }, editor.user_id, 'More'));
        expect((await rename({ token }, other.user_id, `By ${token.slice(-9)}`)).status).toBe(200);
      }
    });

    type Send = (user: TestLogin, factor_id: string, n: number) => Promise<TestAnswer>;
    const passwordOf = (n: number) => (n === 0 ? password : `${password} ${n}`);
    it.each<[string, string, Send]>([
      [
        'names of a factor',
        'factor.renamed',
        ({ token }, factor_id, n) => service.patch(`/auth/factor/${factor_id}`, { token, body: { name: `App ${n}` } }),
      ],
      [
        'new recovery codes',
        'factor.recovery_codes_renewed',
        ({ token }) => service.post('/auth/factor/recovery-codes', { token }),
      ],
    ])('limits %s (B34)', async (_title, event_type, send) => {
      const user = await service.loginAs();
      const { factor_id } = await enrolApp(service, user);
      await service.rows('delete from rate_limits');
      expect((await send(user, factor_id, 0)).status).toBe(200);
      await almost();
      expect((await send(user, factor_id, 1)).status).toBe(200);
      assertLimited(await send(user, factor_id, 2));
      expect(await events(user.user_id, event_type)).toHaveLength(2);
      expect((await service.delete(`/auth/factor/${factor_id}`, user)).status).toBe(204);
    });

    it('limits changes of the password and reauthentications separately (B34)', async () => {
      const user = await service.loginAs();
      const { token } = user;
      const change = (n: number) => {
        const body = { current_password: passwordOf(n), new_password: passwordOf(n + 1) };
        return service.post('/auth/password', { token, body });
      };
      const reauthenticate = () => service.post('/auth/reauthenticate', { token, body: { password: passwordOf(2) } });
      expect((await rename(user, user.user_id, 'Ada')).status).toBe(200);
      await almost();
      expect((await rename(user, user.user_id, 'Eva')).status).toBe(200);
      expect((await change(0)).status).toBe(204);
      await almost();
      expect((await change(1)).status).toBe(204);
      assertLimited(await change(2));
      expect((await reauthenticate()).status).toBe(200);
      await almost();
      expect((await reauthenticate()).status).toBe(200);
      assertLimited(await reauthenticate());
      expect(await events(user.user_id, 'password.changed')).toHaveLength(2);
    });
  });

  /** `GET /user` is answered from the memory of the service until the user changes. */
  describe('the current user', () => {
    let login: TestLogin;
    beforeEach(async () => {
      login = await service.loginAs({ user_type: 'system', roles: ['reader'] });
    });

    const isCached = async () =>
      (await service.inside<LiveLoginsService>('LiveLoginsService').cached(login.session_id, login.user_id)) !== null;
    const current = async () => {
      const { status, headers, body } = await service.get('/user', login);
      return { status, etag: headers['etag'], body };
    };

    it('has the same fields and ETag from the database, from memory and as another user', async () => {
      const first = await current();
      expect(await isCached()).toBe(true);
      expect(await current()).toEqual(first);
      const { body, headers } = await service.get(`/user/${login.user_id}`, login);
      expect(first).toEqual({ status: 200, etag: headers['etag'], body: { ...body, permissions: ['user:read'] } });
    });

    it('shows a manual change of any column at once, except for the four that may be a minute old', async () => {
      const columns = Object.entries<UserField>(userFields).filter(([name]) => name !== 'user_id');
      await service.rows('alter table users drop constraint users_carrier_check');
      await service.rows('create table original as select * from users where user_id = $1', [login.user_id]);
      const kept: string[] = [];
      for (const [column, { type }] of columns) {
        const value = otherValues[column] ?? otherOfType[type];
        expect([column, (await current()).status, await isCached()]).toEqual([column, 200, true]);
        await service.rows(`update users set ${column} = ${value} where user_id = $1`, [login.user_id]);
        if (await isCached()) kept.push(column);
        const restored = `update users set ${column} = original.${column} from original`;
        await service.rows(`${restored} where users.user_id = original.user_id`);
      }
      expect(kept).toEqual(mayBeOld);
      const { body } = await current();
      const computed = ['user_id', 'online', 'must_enroll_second_factor', 'permissions'];
      expect(Object.keys(body).sort()).toEqual([...columns.map(([column]) => column), ...computed].sort());
      const renumber = service.rows('update users set user_id = gen_random_uuid() where user_id = $1', [login.user_id]);
      await expect(renumber).rejects.toThrow('user_id_fkey');
    });

    it('shows the permissions of a role that was changed by hand', async () => {
      const permissions = async () => (await current()).body.permissions;
      expect(await permissions()).toEqual(['user:read']);
      await service.rows(`update roles set permissions = '{audit:read}' where name = 'reader'`);
      expect(await permissions()).toEqual(['audit:read']);
      await service.rows(`delete from roles where name = 'reader'`);
      expect(await permissions()).toEqual([]);
      await service.rows(
        `insert into roles (name, user_types, permissions) values ('reader', '{system}', '{user:read}')`,
      );
      expect(await permissions()).toEqual(['user:read']);
    });
  });
});
