import { randomUUID } from 'node:crypto';
import type { AccessTokens } from '../../../src/auth/tokens/access-tokens';
import { customRoles, type Relation, relations, roleRows as callers } from '../../support/access-roles';
import { document } from '../../support/document';
import { factorRows } from '../../support/factor-matrix';
import { type Cell, type MatrixRow, type Person, sharedRows } from '../../support/matrix';
import { type TestAnswer, TestService } from '../../support/service';

describe('the access matrix', () => {
  let service: TestService;
  const people = new Map<Relation, Person>();

  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(customRoles);
    const add = async (relation: Relation, fields: Record<string, unknown>) => {
      const { user_id, name } = await service.createUser(fields);
      people.set(relation, { user_id, name, session_id: await insertSession(user_id) });
    };
    await add('same carrier', { carrier_id: 'c1', roles: ['carrier_user'] });
    await add('other carrier', { carrier_id: 'c2', roles: ['carrier_administrator'] });
    await add('system user', { user_type: 'system', roles: ['administrator'] });
    people.set('missing', { user_id: randomUUID(), name: 'missing', session_id: randomUUID() });
  });
  afterAll(() => service.close());

  async function insertSession(user_id: string): Promise<string> {
    const [row] = await service.rows<{ session_id: string }>(
      `
        insert into sessions (
          session_id, user_id, user_type, carrier_id, refresh_token_hash,
          refreshed_at, expires_at, absolute_expires_at
        )
        select
          gen_random_uuid(), user_id, user_type, carrier_id, '',
          now(), now() + interval '1 hour', now() + interval '1 hour'
        from users
        where user_id = $1
        returning session_id`,
      [user_id],
    );
    return row?.session_id ?? '';
  }

  /** Reverts what the previous cell did to other users. */
  async function repair(): Promise<void> {
    await service.rows('update users set deleted_at = null where deleted_at is not null');
    await service.rows(`update users set roles = '{administrator}' where user_id = $1`, [
      people.get('system user')?.user_id,
    ]);
    await service.rows(`update sessions set ended_at = null, ended_reason = null where refresh_token_hash = ''`);
  }

  const found = ({ body }: TestAnswer) => (body.items === undefined ? '' : ` found ${body.items.length}`);
  const matched = ({ body }: TestAnswer) =>
    body.matched === undefined
      ? ''
      : ` matched ${body.matched} ${(body.skipped as { reason: string }[]).map(({ reason }) => reason).join()}`;
  const notFoundOr = (code: string, then: (cell: Cell) => string) => (cell: Cell) =>
    cell.sees ? then(cell) : `404 ${code}`;
  const protectedOr = (then: string) => (cell: Cell) => (cell.isProtected ? '403 access.protected_user' : then);
  const once = ['own'] as const;

  const operations: Record<string, MatrixRow> = {
    ...sharedRows(() => service),
    ...factorRows(() => service),
    'GET /user': {
      permission: null,
      duringPasswordChange: true,
      duringEnrollment: true,
      related: once,
      send: ({ login }) => service.get('/user', login),
      expected: () => '200',
    },
    'GET /user/{user_id}': {
      permission: 'user:read',
      orSelf: true,
      related: relations,
      send: ({ login, target }) => service.get(`/user/${target.user_id}`, login),
      expected: notFoundOr('user.not_found', () => '200'),
    },
    'PATCH /user/{user_id}': {
      permission: 'user:update',
      orSelf: true,
      related: relations,
      send: ({ login: { token }, target }) =>
        service.patch(`/user/${target.user_id}`, { token, body: { timezone: 'Europe/Vienna' } }),
      expected: notFoundOr('user.not_found', protectedOr('200')),
    },
    'DELETE /user/{user_id}': {
      permission: 'user:delete',
      related: relations,
      send: ({ login, target }) => service.delete(`/user/${target.user_id}`, login),
      expected: notFoundOr('user.not_found', (cell) =>
        cell.relation === 'own' ? '403 user.self_protected' : protectedOr('204')(cell),
      ),
    },
    'POST /user/{user_id}/restore': {
      permission: 'user:delete',
      related: relations,
      send: async ({ login, target, relation }) => {
        if (relation !== 'own')
          await service.rows('update users set deleted_at = now() where user_id = $1', [target.user_id]);
        return service.post(`/user/${target.user_id}/restore`, login);
      },
      expected: notFoundOr('user.not_found', (cell) =>
        cell.relation === 'own' ? '404 user.not_found' : protectedOr('200')(cell),
      ),
    },
    'POST /user/{user_id}/invite': {
      permission: 'user:update',
      related: relations,
      send: ({ login, target }) => service.post(`/user/${target.user_id}/invite`, login),
      expected: notFoundOr('user.not_found', protectedOr('400 request.invalid')),
    },
    'POST /user/create': {
      permission: 'user:create',
      related: ['same carrier', 'other carrier', 'system user'],
      // The name is taken: a caller with the permission learns that, and no user is created.
      send: ({ login: { token }, target: { name }, relation }) => {
        const kind =
          relation === 'system user'
            ? { user_type: 'system' }
            : { user_type: 'carrier', carrier_id: relation === 'same carrier' ? 'c1' : 'c2' };
        return service.post('/user/create', { token, body: { name, email: `${name}@example.net`, ...kind } });
      },
      expected: ({ sees }) => (sees ? '409 user.name_taken' : '403 access.denied'),
    },
    'GET /user/list': {
      permission: 'user:read',
      related: relations,
      send: ({ login, target }) => service.get(`/user/list?user_id=${target.user_id}`, login),
      expected: ({ sees }) => `200 found ${sees ? 1 : 0}`,
      detailOf: found,
    },
    'POST /user/import': {
      permission: 'user:import',
      related: ['same carrier', 'other carrier', 'system user'],
      send: ({ login: { token }, target: { name }, relation }) => {
        const kind = relation === 'system user' ? 'system,' : `carrier,${relation === 'same carrier' ? 'c1' : 'c2'}`;
        const body = `user_type,carrier_id,name,email\n${kind},${name},${name}@example.net`;
        return service.post('/user/import?dry_run=true', { token, body, headers: { 'content-type': 'text/csv' } });
      },
      expected: ({ sees }) => `200 ${sees ? 'user.name_taken' : 'access.denied'}`,
      detailOf: ({ body }) => ` ${Object.keys(body.skipped_reasons as object).join()}`,
    },
    'PATCH /user/all': {
      permission: 'user:update',
      related: relations,
      send: ({ login: { token }, target }) =>
        service.patch(`/user/all?user_id=${target.user_id}`, { token, body: { timezone: 'Europe/Vienna' } }),
      expected: ({ sees, isProtected }) =>
        `200 matched ${sees ? 1 : 0} ${sees && isProtected ? 'access.protected_user' : ''}`,
      detailOf: matched,
    },
    'DELETE /user/all': {
      permission: 'user:delete',
      related: relations,
      send: ({ login, target }) => service.delete(`/user/all?user_id=${target.user_id}`, login),
      expected: ({ sees, isProtected, relation }) => {
        const skipped = relation === 'own' ? 'user.self_protected' : sees && isProtected ? 'access.protected_user' : '';
        return `200 matched ${sees ? 1 : 0} ${skipped}`;
      },
      detailOf: matched,
    },
    'GET /auth/session/list': {
      permission: null,
      related: relations,
      send: ({ login, target }) => service.get(`/auth/session/list?session_id=${target.session_id}`, login),
      expected: ({ relation, sees, holds }) =>
        `200 found ${relation === 'own' || (sees && holds('session:read')) ? 1 : 0}`,
      detailOf: found,
    },
    'DELETE /auth/session/{session_id}': {
      permission: null,
      related: relations,
      send: ({ login, target }) => service.delete(`/auth/session/${target.session_id}`, login),
      expected: (cell) => {
        const reaches = cell.relation === 'own' || (cell.sees && cell.holds('session:revoke'));
        return reaches ? protectedOr('204')(cell) : '404 session.not_found';
      },
    },
    'DELETE /auth/session/all': {
      permission: null,
      related: relations,
      send: ({ login, target }) => service.delete(`/auth/session/all?session_id=${target.session_id}`, login),
      expected: ({ relation, sees, isProtected, holds }) =>
        `200 ended ${relation === 'own' || (sees && !isProtected && holds('session:revoke')) ? 1 : 0}`,
      detailOf: ({ body }) => (body.ended === undefined ? '' : ` ended ${body.ended}`),
    },
    'POST /auth/introspect': {
      permission: null,
      related: relations,
      send: async ({ login: { token }, target: { user_id, session_id } }) => {
        const duties = { must_change_password: false, must_enroll_second_factor: false };
        const asked = await service.inside<AccessTokens>('AccessTokens').sign({
          user: { user_id, user_type: 'carrier', roles: [], carrier_id: null, ...duties },
          session: { session_id, amr: ['pwd'], auth_time: new Date() },
          grant: null,
          permissions: [],
        });
        const headers = { 'content-type': 'application/x-www-form-urlencoded' };
        return service.post('/auth/introspect', { token, headers, body: `token=${asked.access_token}` });
      },
      expected: ({ relation, sees, holds }) =>
        `200 active ${relation === 'own' || (sees && holds('token:introspect'))}`,
      detailOf: ({ body }) => ` active ${body.active}`,
    },
    'GET /audit/list': {
      permission: 'audit:read',
      related: relations,
      send: ({ login, target }) =>
        service.get(`/audit/list?event_type=user.created&target_id=${target.user_id}`, login),
      expected: ({ sees }) => `200 found ${sees ? 1 : 0}`,
      detailOf: found,
    },
  };

  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { 'x-permission': permission }]) => ({
      operation: `${method.toUpperCase()} ${path}`,
      permission,
    })),
  );

  it('has a row for every operation that is not public, with the documented permission (Z2)', () => {
    const wanted = Object.fromEntries(
      Object.entries(operations).map(([name, { permission }]) => [name, permission ?? 'any login']),
    );
    const actual = Object.fromEntries(
      documented
        .filter(({ permission }) => permission !== 'none')
        .map(({ operation, permission }) => [operation, permission]),
    );
    expect(actual).toEqual(wanted);
    const cells =
      Object.values(operations).reduce((sum, { related }) => sum + related.length, 0) * Object.keys(callers).length;
    expect(cells).toBeGreaterThanOrEqual(600);
  });

  it.each(Object.entries(callers))(
    'allows %s exactly what the matrix says, in every operation and towards every kind of user (Z2)',
    async (_title, role) => {
      const login = await service.loginAs(role.fields);
      people.set('own', { user_id: login.user_id, name: login.name, session_id: await insertSession(login.user_id) });
      const holds = (permission: string) => role.holds === 'all' || role.holds.includes(permission);
      const wrong: string[] = [];
      for (const [name, operation] of Object.entries(operations)) {
        for (const relation of operation.related) {
          const target = people.get(relation) as Person;
          const cell: Cell = {
            login,
            target,
            relation,
            sees: role.sees.includes(relation),
            isProtected: role.mayNotChange.includes(relation),
            seesAll: role.sees.includes('system user'),
            mustEnroll: role.mustEnroll === true,
            holds,
          };
          const allowed =
            operation.permission === null ||
            holds(operation.permission) ||
            (operation.orSelf === true && relation === 'own');
          const shut = role.mustChangePassword === true && operation.duringPasswordChange !== true;
          const unenrolled = role.mustEnroll === true && operation.duringEnrollment !== true;
          const denied = unenrolled ? '403 auth.second_factor_enrollment_required' : '403 access.denied';
          const wanted = shut
            ? '403 auth.password_change_required'
            : allowed && !unenrolled
              ? operation.expected(cell)
              : denied;
          const answer = await operation.send(cell);
          const code: string | undefined = answer.body?.code;
          const got = `${answer.status}${code === undefined ? (operation.detailOf?.(answer) ?? '') : ` ${code}`}`;
          if (got !== wanted) wrong.push(`${name} on ${relation}: ${got}, not ${wanted}`);
          await repair();
        }
      }
      expect(wrong).toEqual([]);
    },
  );
});
