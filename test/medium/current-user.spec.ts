import { Notifications } from '../../src/database/notifications.service';
import { LiveLoginsRepository } from '../../src/logins/live-logins.repository';
import { LiveLoginsService } from '../../src/logins/live-logins.service';
import type { UserEntity } from '../../src/users/user.entity';
import { type TestLogin, TestService } from '../support/service';

/** Another value of each column, as SQL. */
const otherValues: Record<Exclude<keyof UserEntity, 'user_id'>, string> = {
  user_type: `'carrier'`,
  name: `'renamed'`,
  email: `'renamed@example.com'`,
  email_pending: `'pending@example.com'`,
  email_verified_at: `'2020-01-01'`,
  first_name: `'Grace'`,
  last_name: `'Hopper'`,
  phone: `'+43123456789'`,
  job_title: `'Admiral'`,
  locale: `'fr'`,
  timezone: `'Asia/Tokyo'`,
  carrier_id: `'c9'`,
  carrier_scope: `'{c9}'`,
  roles: `'{auditor,operator}'`,
  status: `'disabled'`,
  allowed_ips: `'{192.0.2.0/24}'`,
  attributes: `'{"tier": "gold"}'`,
  must_change_password: 'true',
  second_factors: `'{totp}'`,
  second_factor_required_from: `'2099-01-01'`,
  created_at: `'2020-01-01'`,
  created_by: 'user_id',
  updated_at: `'2020-01-01'`,
  last_login_at: `'2020-01-01'`,
  last_login_ip: `'192.0.2.9'`,
  last_seen_at: `'2020-01-01'`,
  password_changed_at: `'2020-01-01'`,
  locked_until: `'2099-01-01'`,
  deleted_at: 'now()',
  version: 'version + 1',
};
/** The columns that a response from memory may show as they were a minute ago (ADR 10). */
const mayBeOld = ['last_login_at', 'last_login_ip', 'last_seen_at', 'locked_until'];

describe('the current user in memory', () => {
  let service: TestService;
  let login: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('reader', '{system}', '{user:read}')`,
    );
  });
  beforeEach(async () => {
    login = await service.loginAs({ user_type: 'system', roles: ['reader'] });
  });
  afterAll(() => service.close());

  const isCached = () =>
    service.app.get(LiveLoginsService, { strict: false }).cached(login.session_id, login.user_id) !== null;
  /** Runs a statement as an operator would by hand, and waits for its notifications. */
  const byHand = async (statement: string, values: unknown[] = []) => {
    await service.rows(statement, values);
    await service.app.get(Notifications).caughtUp();
  };
  const current = async () => {
    const { status, body, headers } = await service.get('/user', login);
    return { status, etag: headers['etag'], body };
  };

  it('responds without the database until the user changes', async () => {
    const first = await current();
    const reads = jest.spyOn(service.app.get(LiveLoginsRepository, { strict: false }), 'find');
    expect(await current()).toEqual(first);
    expect(reads).toHaveBeenCalledTimes(0);
    reads.mockRestore();
    expect(first.body).toEqual({
      ...(await service.get(`/user/${login.user_id}`, login)).body,
      permissions: ['user:read'],
    });
  });

  it('shows a manual change of any column at once, except for the four that may be a minute old', async () => {
    const columns = Object.entries(otherValues);
    await service.rows('alter table users drop constraint users_carrier_check');
    await service.rows('create table original as select * from users where user_id = $1', [login.user_id]);
    const kept: string[] = [];
    for (const [column, value] of columns) {
      expect([column, (await current()).status, isCached()]).toEqual([column, 200, true]);
      await byHand(`update users set ${column} = ${value} where user_id = $1`, [login.user_id]);
      if (isCached()) kept.push(column);
      const restored = `update users set ${column} = original.${column} from original`;
      await byHand(`${restored} where users.user_id = original.user_id`);
    }
    expect(kept).toEqual(mayBeOld);
    const { body } = await current();
    expect(Object.keys(body).sort()).toEqual(
      [...columns.map(([column]) => column), 'user_id', 'online', 'must_enroll_second_factor', 'permissions'].sort(),
    );
    await expect(
      service.rows('update users set user_id = gen_random_uuid() where user_id = $1', [login.user_id]),
    ).rejects.toThrow('user_id_fkey');
  });

  it('shows the permissions of a role that was changed by hand', async () => {
    const permissions = async () => (await current()).body.permissions;
    expect(await permissions()).toEqual(['user:read']);
    await byHand(`update roles set permissions = '{audit:read}' where name = 'reader'`);
    expect(await permissions()).toEqual(['audit:read']);
    await byHand(`delete from roles where name = 'reader'`);
    expect(await permissions()).toEqual([]);
    await byHand(`insert into roles (name, user_types, permissions) values ('reader', '{system}', '{user:read}')`);
    expect(await permissions()).toEqual(['user:read']);
  });

  it('shows a change by the user and its ETag to the next request', async () => {
    for (let round = 0; round < 20; round++) {
      await current();
      const changed = await service.patch(`/user/${login.user_id}`, {
        token: login.token,
        body: { first_name: `Ada ${round}` },
      });
      const { etag, body } = await current();
      expect([etag, body.first_name]).toEqual([changed.headers['etag'], `Ada ${round}`]);
    }
  });

  it.each([
    ['disabled', { status: 'disabled' }, 401, undefined],
    ['demoted', { roles: [] }, 200, []],
    ['made to change the password', { must_change_password: true }, 200, []],
  ])('applies that the user was %s to the next request (S7)', async (_how, change, status, permissions) => {
    expect((await current()).body.permissions).toEqual(['user:read']);
    await service.patch(`/user/${login.user_id}`, { token: service.admin.token, body: change });
    const next = await current();
    expect([next.status, next.body.permissions]).toEqual([status, permissions]);
  });

  it('rejects the next request after the end of the session or of the user (S7)', async () => {
    expect((await current()).status).toBe(200);
    await service.post('/auth/logout', { token: login.token, body: {} });
    expect((await current()).status).toBe(401);
    login = await service.loginAs({ user_type: 'system', roles: ['reader'] });
    expect((await current()).status).toBe(200);
    await service.delete(`/user/${login.user_id}`, service.admin);
    expect((await current()).status).toBe(401);
  });
});
