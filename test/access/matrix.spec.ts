import { randomUUID } from 'node:crypto';
import { customRoles, type Relation, relations, roleRows as callers } from '../support/access-roles';
import { document } from '../support/document';
import { factorRows } from '../support/factor-matrix';
import { createKey } from '../support/keys';
import { accessTokenOf, addSession } from '../support/made-logins';
import { type Cell, type MatrixRow, type Person, sharedRows } from '../support/matrix';
import { type TestAnswer, TestService } from '../support/service';

interface Router {
  printRoutes: (options: object) => string;
}

/** The public operations. A new public route must be added here, with the reason in the review. */
const publicOperations = [
  ...['GET /', 'GET /.well-known/jwks.json', 'GET /.well-known/webauthn', 'GET /auth/email/{token}'],
  // The token of an export is the proof. It works once, for a minute.
  ...['GET /auth/reset/{token}', 'GET /health/live', 'GET /health/ready', 'GET /user/export/{token}'],
  ...['HEAD /', 'HEAD /health/live', 'HEAD /health/ready', 'POST /auth/check-token', 'POST /auth/email/{token}'],
  ...['POST /auth/login', 'POST /auth/logout', 'POST /auth/passkey/login', 'POST /auth/passkey/options'],
  ...['POST /auth/reset/{token}', 'POST /auth/reset_email', 'POST /auth/second-factor'],
  ...['POST /auth/second-factor/passkey-options'],
];
/** Paths of pages and their files. */
const pages = /^\/(docs|console)|^\/auth\/link-page\.js$/;

const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { 'x-permission': permission = '' }]) => ({
    operation: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    permission,
  })),
);
const closed = documented.filter(({ permission }) => permission !== 'none');

describe('the access to operations', () => {
  let service: TestService;
  const people = new Map<Relation, Person>();
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(customRoles);
    const add = async (relation: Relation, fields: Record<string, unknown>) => {
      const { user_id, name } = await service.createUser(fields);
      people.set(relation, { user_id, name, session_id: (await addSession(service, user_id)).session_id });
    };
    await add('same carrier', { carrier_id: 'c1', roles: ['carrier_user'] });
    await add('other carrier', { carrier_id: 'c2', roles: ['carrier_administrator'] });
    await add('system user', { user_type: 'system', roles: ['administrator'] });
    people.set('missing', { user_id: randomUUID(), name: 'missing', session_id: randomUUID() });
  });
  afterAll(() => service.close());

  /** Reverts what the previous cell did to other users. */
  async function repair(): Promise<void> {
    await service.rows('update users set deleted_at = null where deleted_at is not null');
    const { user_id } = people.get('system user') as Person;
    await service.rows(`update users set roles = '{administrator}' where user_id = $1`, [user_id]);
    await service.rows('update sessions set ended_at = null, ended_reason = null where ended_at is not null');
  }

  const found = ({ body }: TestAnswer) => (body.items === undefined ? '' : ` found ${body.items.length}`);
  const matched = ({ body }: TestAnswer) => {
    const reasons = (body.skipped ?? []) as { reason: string }[];
    return body.matched === undefined ? '' : ` matched ${body.matched} ${reasons.map(({ reason }) => reason).join()}`;
  };
  const existing =
    (then: MatrixRow['expected'], missing = '404 user.not_found') =>
    (cell: Cell) =>
      cell.sees ? then(cell) : missing;
  const protectedOr = (then: string) => (cell: Cell) => (cell.isProtected ? '403 access.protected_user' : then);
  const ownOr = (own: string, then: MatrixRow['expected']) => (cell: Cell) =>
    cell.relation === 'own' ? own : then(cell);
  /** Returns a row with each kind of user as the target. */
  const onUsers = (
    permission: string | null,
    send: MatrixRow['send'],
    expected: MatrixRow['expected'],
    detailOf?: MatrixRow['detailOf'],
  ): MatrixRow => ({ permission, related: relations, send, expected, ...(detailOf === undefined ? {} : { detailOf }) });
  /** Sends a request about the target, such as `GET /user/:user`. */
  const call =
    (request: string, body?: object): MatrixRow['send'] =>
    ({ login: { token }, target: { user_id, session_id } }) => {
      const [method = '', url = ''] = request.replace(':user', user_id).replace(':session', session_id).split(' ');
      return service.send(method, url, { token, body });
    };
  const matchedOne = ({ isProtected }: Cell) => `200 matched 1 ${isProtected ? 'access.protected_user' : ''}`;
  const seen = ({ sees }: Cell) => `200 found ${sees ? 1 : 0}`;
  /** Returns the type and the carrier of a new user in relation to the caller. */
  const typeOf = (relation: Relation) =>
    relation === 'system user'
      ? { user_type: 'system', carrier_id: '' }
      : { user_type: 'carrier', carrier_id: relation === 'same carrier' ? 'c1' : 'c2' };
  const timezone = { timezone: 'Europe/Vienna' };

  const operations: Record<string, MatrixRow> = {
    ...sharedRows(() => service),
    ...factorRows(() => service),
    'GET /user': {
      permission: null,
      duringPasswordChange: true,
      duringEnrollment: true,
      related: ['own'],
      send: call('GET /user'),
      expected: () => '200',
    },
    'GET /user/{user_id}': {
      ...onUsers(
        'user:read',
        call('GET /user/:user'),
        existing(() => '200'),
      ),
      orSelf: true,
    },
    'PATCH /user/{user_id}': {
      ...onUsers('user:update', call('PATCH /user/:user', timezone), existing(protectedOr('200'))),
      orSelf: true,
    },
    'DELETE /user/{user_id}': onUsers(
      'user:delete',
      call('DELETE /user/:user'),
      existing(ownOr('403 user.self_protected', protectedOr('204'))),
    ),
    'POST /user/{user_id}/restore': onUsers(
      'user:delete',
      async (cell) => {
        if (cell.relation !== 'own')
          await service.rows('update users set deleted_at = now() where user_id = $1', [cell.target.user_id]);
        return call('POST /user/:user/restore')(cell);
      },
      existing(ownOr('404 user.not_found', protectedOr('200'))),
    ),
    'POST /user/{user_id}/invite': onUsers(
      'user:update',
      call('POST /user/:user/invite'),
      existing(protectedOr('400 request.invalid')),
    ),
    'POST /user/create': {
      permission: 'user:create',
      related: ['same carrier', 'other carrier', 'system user'],
      // The name is taken, so that no user is created.
      send: ({ login: { token }, target: { name }, relation }) => {
        const { user_type, carrier_id } = typeOf(relation);
        const type = carrier_id === '' ? { user_type } : { user_type, carrier_id };
        return service.post('/user/create', { token, body: { name, email: `${name}@example.net`, ...type } });
      },
      expected: existing(() => '409 user.name_taken', '403 access.denied'),
    },
    'GET /user/list': onUsers('user:read', call('GET /user/list?user_id=:user'), seen, found),
    'POST /user/import': {
      permission: 'user:import',
      related: ['same carrier', 'other carrier', 'system user'],
      send: ({ login: { token }, target: { name }, relation }) => {
        const { user_type, carrier_id } = typeOf(relation);
        const body = `user_type,carrier_id,name,email\n${user_type},${carrier_id},${name},${name}@example.net`;
        return service.post('/user/import?dry_run=true', { token, body, headers: { 'content-type': 'text/csv' } });
      },
      expected: ({ sees }) => `200 ${sees ? 'user.name_taken' : 'access.denied'}`,
      detailOf: ({ body }) => ` ${Object.keys(body.skipped_reasons as object).join()}`,
    },
    'PATCH /user/all': onUsers(
      'user:update',
      call('PATCH /user/all?user_id=:user', timezone),
      existing(matchedOne, '200 matched 0 '),
      matched,
    ),
    'DELETE /user/all': onUsers(
      'user:delete',
      call('DELETE /user/all?user_id=:user'),
      existing(ownOr('200 matched 1 user.self_protected', matchedOne), '200 matched 0 '),
      matched,
    ),
    'GET /auth/session/list': onUsers(
      null,
      call('GET /auth/session/list?session_id=:session'),
      ownOr('200 found 1', ({ sees, holds }) => `200 found ${sees && holds('session:read') ? 1 : 0}`),
      found,
    ),
    'DELETE /auth/session/{session_id}': onUsers(
      null,
      call('DELETE /auth/session/:session'),
      ownOr('204', (cell) =>
        cell.sees && cell.holds('session:revoke') ? protectedOr('204')(cell) : '404 session.not_found',
      ),
    ),
    'DELETE /auth/session/all': onUsers(
      null,
      call('DELETE /auth/session/all?session_id=:session'),
      ownOr('200 ended 1', ({ sees, isProtected, holds }) => {
        return `200 ended ${sees && !isProtected && holds('session:revoke') ? 1 : 0}`;
      }),
      ({ body }) => (body.ended === undefined ? '' : ` ended ${body.ended}`),
    ),
    'POST /auth/introspect': onUsers(
      null,
      async ({ login: { token }, target }) => {
        const headers = { 'content-type': 'application/x-www-form-urlencoded' };
        const body = `token=${await accessTokenOf(service, target)}`;
        return service.post('/auth/introspect', { token, headers, body });
      },
      ownOr('200 active true', ({ sees, holds }) => `200 active ${sees && holds('token:introspect')}`),
      ({ body }) => ` active ${body.active}`,
    ),
    'GET /audit/list': onUsers(
      'audit:read',
      call('GET /audit/list?event_type=user.created&target_id=:user'),
      seen,
      found,
    ),
  };

  it('has a row for every operation that is not public, with the documented permission (Z2)', () => {
    expect(Object.fromEntries(closed.map(({ operation, permission }) => [operation, permission]))).toEqual(
      Object.fromEntries(Object.entries(operations).map(([name, { permission }]) => [name, permission ?? 'any login'])),
    );
    const targets = Object.values(operations).flatMap(({ related }) => related);
    expect(targets.length * Object.keys(callers).length).toBeGreaterThanOrEqual(600);
  });

  it.each(Object.entries(callers))(
    'allows %s exactly what the matrix says, in every operation and towards every kind of user (Z2)',
    async (_title, role) => {
      const login = await service.loginAs(role.fields);
      const { user_id, name: ownName } = login;
      const { session_id } = await addSession(service, user_id);
      people.set('own', { user_id, name: ownName, session_id });
      const holds = (permission: string) => role.holds === 'all' || role.holds.includes(permission);
      const wrong: string[] = [];
      for (const [name, operation] of Object.entries(operations)) {
        for (const relation of operation.related) {
          const cell: Cell = {
            login,
            target: people.get(relation) as Person,
            relation,
            sees: role.sees.includes(relation),
            isProtected: role.mayNotChange.includes(relation),
            seesAll: role.sees.includes('system user'),
            mustEnroll: role.mustEnroll === true,
            holds,
          };
          const { permission, orSelf, duringPasswordChange, duringEnrollment } = operation;
          const allowed = permission === null || holds(permission) || (orSelf === true && relation === 'own');
          let wanted = allowed ? operation.expected(cell) : '403 access.denied';
          if (cell.mustEnroll && duringEnrollment !== true) wanted = '403 auth.second_factor_enrollment_required';
          if (role.mustChangePassword === true && duringPasswordChange !== true)
            wanted = '403 auth.password_change_required';
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

  describe('without a login', () => {
    it('is rejected in every operation that is not in the list of public operations (Z1)', async () => {
      const open = documented.filter(({ permission }) => permission === 'none').map(({ operation }) => operation);
      expect(open.sort()).toEqual(publicOperations);
      const basic = { headers: { authorization: 'Basic YWRtaW46YWRtaW4=', cookie: 'token=1' } };
      for (const { operation, method, path } of closed)
        for (const request of [{}, { body: { a: 1 } }, basic]) {
          const { status, body } = await service.send(method, `${withIds(path)}?nothing=1`, request);
          // Only introspection accepts Basic, and these credentials belong to no key.
          const isKey = operation === 'POST /auth/introspect' && request === basic;
          const code = isKey ? 'auth.key_invalid' : 'auth.token_missing';
          expect(`${operation} ${status} ${body.code}`).toBe(`${operation} 401 ${code}`);
        }
    });

    it('is rejected on every route of the router, also on undocumented routes (Z1, H20)', async () => {
      const printed = await service.inside<Router>('Router').printRoutes({ commonPrefix: false });
      const routes = routesOf(printed).filter((path) => !pages.test(path));
      expect(routes.length).toBeGreaterThanOrEqual(Object.keys(document.paths).length);
      for (const path of routes.map((route) => route.replace(/:(\w+)/g, '{$1}')))
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          if (publicOperations.includes(`${method} ${path}`)) continue;
          const { statusCode } = await service.inject({ method, url: withIds(path) });
          const known = document.paths[path]?.[method.toLowerCase()] !== undefined;
          expect(`${method} ${path} ${statusCode}`).toBe(`${method} ${path} ${known ? 401 : 405}`);
        }
    });
  });

  describe('without a permission', () => {
    const named = ({ status, body }: TestAnswer) => [status, body.code, body.errors];
    const missing = (permission: string) => [
      403,
      'access.denied',
      [{ code: 'permission.missing', detail: `The permission ${permission} is missing.`, params: { permission } }],
    ];

    it('names the permission on every route that needs one (Z2)', async () => {
      const { token } = await service.loginAs({ user_type: 'system' });
      const guarded = closed.filter(({ permission }) => permission.includes(':'));
      expect(guarded.length).toBeGreaterThan(25);
      for (const { operation, method, path, permission } of guarded) {
        const answer = await service.send(method, withIds(path.replace('{role}', 'auditor')), { token });
        expect([operation, ...named(answer)]).toEqual([operation, ...missing(permission)]);
      }
    });

    it('names the permission that a parameter, a field or an API key needs, before other errors (Z2)', async () => {
      await service.rows(
        `insert into roles (name, user_types, permissions) values
          ('writer', '{system}', '{user:update,user:delete,user:export}'), ('reader', '{system}', '{user:read}')`,
      );
      const by = (...roles: string[]) => service.loginAs({ user_type: 'system', roles });
      const [nobody, writer, reader] = [await by(), await by('writer'), await by('reader')];
      const { key } = await createKey(service, ['user:read']);
      const { user_id } = await service.createUser();
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      const patch = ({ token }: { token: string }, url: string, body: object) => service.patch(url, { token, body });
      const answers: [string, TestAnswer][] = [
        ['user:purge', await service.delete(`/user/${user_id}?purge=true`, writer)],
        ['user:purge', await service.get('/user/export?hashes=true', writer)],
        ['user:purge', await service.get('/user/export?hashes=true&unknown=1', writer)],
        ['user:read', await patch(writer, `/user/${user_id}`, {})],
        ['user:update', await patch(nobody, `/user/${nobody.user_id}`, { status: 'disabled' })],
        ['user:reset_factors', await patch(writer, `/user/all?user_id=${user_id}`, { reset_second_factors: true })],
        ['user:read_deleted', await service.get('/user/list?deleted=true&name=ada', reader)],
        ['user:read_deleted', await service.get('/user/list?deleted=true&name=ada&per_page=0', reader)],
        ['user:update', await service.get('/user/operation/list', reader)],
        ['user:update', await service.get('/user/operation/list?per_page=0', reader)],
        ['user:update', await service.get(`/user/operation/${user_id}/skipped?per_page=0`, reader)],
        ['token:introspect', await service.post('/auth/introspect', { token: key, headers: form, body: 'token=x' })],
      ];
      for (const [index, [permission, answer]] of answers.entries())
        expect([index, ...named(answer)]).toEqual([index, ...missing(permission)]);
    });

    it('names no permission if another rule rejects the request', async () => {
      const { token } = await service.loginAs({ user_type: 'system', roles: ['administrator'], carrier_scope: ['c1'] });
      const { key } = await createKey(service, ['*']);
      const created = await service.post('/role/create', { token, body: { name: 'x', user_types: ['system'] } });
      for (const answer of [created, await service.get('/user', { token: key })])
        expect(named(answer)).toEqual([403, 'access.denied', undefined]);
    });
  });
});

/** Replaces the parameters of a path by unknown ids. */
function withIds(path: string): string {
  return path.replace(/\{[^}]+\}/g, randomUUID());
}

/** Parses the paths of the tree that the router prints. */
function routesOf(tree: string): string[] {
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', part = ''] = /^([│ ]*)[├└]── (\S+) \(/.exec(line) ?? [];
    if (part === '') return [];
    const depth = indent.length / 4;
    parents[depth] = (parents[depth - 1] ?? '') + part;
    parents.length = depth + 1;
    return [parents[depth] ?? ''];
  });
}
