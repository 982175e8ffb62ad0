import { randomUUID } from 'node:crypto';
import { document } from '../support/contract/document';
import { createKey } from '../support/data/keys';
import { accessTokenOf, addSession } from '../support/data/made-logins';
import {
  callers,
  customRoles,
  type MatrixRow,
  matrixRows,
  type Person,
  type Relation,
} from '../support/contract/matrix';
import { codeOf, type TestAnswer, type TestRequest, TestService } from '../support/service';

interface Router {
  printRoutes: (options: object) => string;
}

/** The public operations. A new public route must be added here, with the reason in the review. */
const publicOperations = [
  ...['GET /', 'GET /.well-known/jwks.json', 'GET /.well-known/oauth-authorization-server'],
  ...['GET /.well-known/webauthn', 'GET /auth/email/{token}'],
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

type Request = Pick<TestRequest, 'body' | 'headers'>;

/** A query, and a body with its media type. */
type Variant = [query: string, request: Request];

const refused = '401 auth.reauthentication_required';
const refusedOrFailed = / (401 auth\.reauthentication_required|5\d\d)/;
const challenge = 'Bearer error="insufficient_user_authentication", max_age="300"';
/** Age in seconds of an authentication that is just no longer fresh. */
const stale = 301;
/** Age in seconds of an authentication that is still fresh at the end of a slow test. */
const fresh = 240;
/** Id of a deleted user with a role. */
const restorable = randomUUID();

const requests = Object.entries(document.paths).flatMap(([path, { head: _, ...methods }]) =>
  Object.entries(methods).map(([method, operation]) => {
    const { requestBody } = operation as { requestBody?: { content: Record<string, { example: unknown }> } };
    const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
    const example: Request = type === undefined ? {} : { body: content?.example, headers: { 'content-type': type } };
    const id = path.endsWith('/restore') ? restorable : randomUUID();
    return {
      ...operation,
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: path.replace('{role}', 'no-such-role').replace(/\{\w+\}/g, id),
      needsPermission: !['none', 'any login'].includes(operation['x-permission'] ?? ''),
      example,
    };
  }),
);
type Operation = (typeof requests)[number];

const someone = `user_id=${randomUUID()}`;
const withHashes: Variant = [`${someone}&hashes=true&format=ndjson`, {}];
const file = { body: 'user_type,name,email\nsystem,ann,ann@example.com', headers: { 'content-type': 'text/csv' } };
const newUser = (name: string, roles: string[]): Variant => [
  '',
  { body: { user_type: 'system', name, email: `${name}@example.com`, roles } },
];
const assignments = [
  ...[{ roles: ['operator'] }, { carrier_scope: ['c1'] }, { allowed_ips: ['192.0.2.0/24'] }],
  ...[{ second_factor_required_from: null }, { status: 'active' }, { status: 'invited' }],
];
const harmless = { body: { timezone: 'Europe/Vienna', status: 'disabled' } };

/** Requests that need a fresh authentication, and other requests of the same operations. */
const variants: Record<string, { needing: Variant[]; others: Variant[] }> = {
  createUser: { needing: [newUser('fresh-1', ['operator'])], others: [newUser('fresh-2', [])] },
  changeUser: {
    needing: [...assignments, { email: 'new@example.com' }].map((body) => ['', { body }]),
    others: [['', harmless]],
  },
  restoreUser: { needing: [['', {}]], others: [] },
  deleteUser: { needing: [['purge=true', {}]], others: [['', {}]] },
  changeUsers: {
    needing: [...assignments, { roles_add: ['operator'] }, { roles_remove: ['operator'] }].map((body) => [
      someone,
      { body },
    ]),
    others: [
      [someone, harmless],
      [`${someone}&dry_run=true`, { body: { roles: ['operator'], status: 'active' } }],
    ],
  },
  deleteUsers: { needing: [[someone, {}]], others: [[`${someone}&dry_run=true`, {}]] },
  exportUsers: { needing: [withHashes], others: [[someone, {}]] },
  createExportLink: { needing: [withHashes], others: [[someone, {}]] },
  importUsers: { needing: [['', file]], others: [['dry_run=true', file]] },
};

const plain = ({ example }: Operation): Variant[] => [['', example]];
const isFresh = (operation: Operation) => operation['x-fresh-auth'] === true;
const requestsOf = (of: (operation: Operation) => Variant[]) =>
  requests.flatMap((operation) => of(operation).map((variant) => [operation, variant] as const));
/** Every request that needs a fresh authentication. */
const needing = requestsOf((one) => (isFresh(one) ? (variants[one.operationId]?.needing ?? plain(one)) : []));
const others = requestsOf((one) => variants[one.operationId]?.others ?? (isFresh(one) ? [] : plain(one)));

describe('the access to operations', () => {
  let service: TestService;
  let operations: Record<string, MatrixRow>;
  const people = new Map<Relation, Person>();
  beforeAll(async () => {
    service = await TestService.start();
    operations = matrixRows(service);
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
  // On a slow machine, the file takes longer than an authentication is fresh.
  beforeEach(() => age(service.admin.session_id, 0));

  /** Reverts what the previous cell did to other users. */
  const repair = () => {
    const systemUser = `user_id = '${people.get('system user')?.user_id}'`;
    return service.rows(`
      update users set deleted_at = null where deleted_at is not null;
      update users set roles = '{administrator}' where ${systemUser} and roles = '{}';
      update sessions set ended_at = null, ended_reason = null where ended_at is not null`);
  };
  const age = (session_id: string, seconds: number) =>
    service.rows(`update sessions set auth_time = now() - make_interval(secs => $2) where session_id = $1`, [
      session_id,
      seconds,
    ]);

  it('has a row for every operation that is not public, with the documented permission (Z2)', () => {
    expect(Object.fromEntries(closed.map(({ operation, permission }) => [operation, permission]))).toEqual(
      Object.fromEntries(Object.entries(operations).map(([name, { permission }]) => [name, permission ?? 'any login'])),
    );
  });

  it.each(Object.entries(callers))(
    'allows %s exactly what the matrix says, in every operation and towards every kind of user (Z2)',
    async (_title, role) => {
      const login = await service.loginAs(role.fields);
      const { user_id, name: ownName } = login;
      people.set('own', { user_id, name: ownName, session_id: (await addSession(service, user_id)).session_id });
      const holds = (permission: string) => role.holds === 'all' || role.holds.includes(permission);
      const wrong: string[] = [];
      for (const [name, operation] of Object.entries(operations)) {
        const { permission, orSelf, duringPasswordChange, duringEnrollment, related } = operation;
        const isAllowed = (relation: Relation) =>
          permission === null || holds(permission) || (orSelf === true && relation === 'own');
        // A denial does not depend on the user: two kinds suffice.
        const relations = related.filter((each) => isAllowed(each) || [related[0], related.at(-1)].includes(each));
        for (const relation of relations) {
          const target = people.get(relation) as Person;
          const sees = role.sees.includes(relation);
          const [isProtected, seesAll] = [role.mayNotChange.includes(relation), role.sees.includes('system user')];
          const cell = { login, target, relation, sees, isProtected, seesAll, holds };
          let wanted = isAllowed(relation) ? operation.expected(cell) : '403 access.denied';
          if (role.mustEnroll && duringEnrollment === undefined) wanted = '403 auth.second_factor_enrollment_required';
          else if (role.mustEnroll && relation === 'own') wanted = String(duringEnrollment);
          if (role.mustChangePassword && !duringPasswordChange) wanted = '403 auth.password_change_required';
          const answer = await operation.send(cell);
          const code: string | undefined = answer.body?.code;
          const got = `${answer.status}${code === undefined ? (operation.detailOf?.(answer) ?? '') : ` ${code}`}`;
          if (got !== wanted) wrong.push(`${name} on ${relation}: ${got}, not ${wanted}`);
          if ((answer.status < 300 && !name.startsWith('GET')) || name.endsWith('/restore')) await repair();
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
          const known = path === '/auth/verify' || document.paths[path]?.[method.toLowerCase()] !== undefined;
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
        ['user:purge', await service.get('/user/export?hashes=true&unknown=1', writer)],
        ['user:read', await patch(writer, `/user/${user_id}`, {})],
        ['user:update', await patch(nobody, `/user/${nobody.user_id}`, { status: 'disabled' })],
        ['user:reset_factors', await patch(writer, `/user/all?user_id=${user_id}`, { reset_second_factors: true })],
        ['user:read_deleted', await service.get('/user/list?deleted=true&name=ada&per_page=0', reader)],
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

  describe('with an old authentication', () => {
    /** an administrator whose sessions and password the requests may end */
    let caller: string;
    beforeAll(async () => {
      await age(service.admin.session_id, 0);
      caller = (await service.createUser({ user_type: 'system', roles: ['administrator'] })).user_id;
      await service.rows(
        `
          insert into users (user_id, user_type, name, email, roles, status, deleted_at)
          values ($1, 'system', 'restorable', 'restorable@example.com', '{operator}', 'active', now())`,
        [restorable],
      );
    });

    /** Returns an access token of a new session, whose authentication has an age in seconds. */
    async function tokenOf(user_id: string, seconds: number): Promise<string> {
      const { session_id } = await addSession(service, user_id);
      await age(session_id, seconds);
      return accessTokenOf(service, { user_id, session_id });
    }
    const send = ({ method, path }: Operation, [query, request]: Variant, token: string) =>
      service.send(method, `${path}?${query}`.replace(/\?$/, ''), { token, ...request });

    it('is rejected after FRESH_AUTH_SECONDS in exactly the requests that the document marks (S24)', async () => {
      const conditional = requests.filter((operation) => operation['x-fresh-auth-if'] !== undefined);
      expect(conditional.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(variants).sort());
      expect(needing.length).toBeGreaterThanOrEqual(15);
      for (const [operation, variant] of needing) {
        const answer = await send(operation, variant, await tokenOf(caller, stale));
        expect(`${operation.name} ${codeOf(answer)}`).toBe(`${operation.name} ${refused}`);
        expect(answer.headers['www-authenticate']).toBe(challenge);
      }
      for (const [operation, variant] of others) {
        const answer = await send(operation, variant, await tokenOf(caller, stale));
        expect(`${operation.name} ${codeOf(answer)}`).not.toMatch(refusedOrFailed);
      }
    });

    it('is not rejected within FRESH_AUTH_SECONDS, or for API keys (S24)', async () => {
      const { key } = await createKey(service, ['*']);
      for (const [operation, variant] of needing) {
        const bySession = await send(operation, variant, await tokenOf(caller, fresh));
        expect(`${operation.name} ${codeOf(bySession)}`).not.toContain(' 401');
        const byKey = await send(operation, variant, key);
        expect(`${operation.name} ${codeOf(byKey)}`).not.toContain(' 401');
        expect([operation.name, byKey.status === 403]).toEqual([operation.name, operation['x-keys'] !== true]);
      }
    });

    it('is rejected only after the permission and the validity of the request are checked (S24)', async () => {
      const user = await service.createUser({ user_type: 'system' });
      for (const [operation, [query, request]] of needing) {
        const { name, needsPermission } = operation;
        if (needsPermission) {
          const denied = await send(operation, [query, request], await tokenOf(user.user_id, stale));
          expect(`${name} ${codeOf(denied)}`).toBe(`${name} 403 access.denied`);
        }
        const { body } = request;
        const wrong: Variant =
          typeof body === 'object'
            ? [query, { ...request, body: { ...body, nothing: 1 } }]
            : [`${query}&nothing=1`.replace(/^&/, ''), request];
        const invalid = await send(operation, wrong, await tokenOf(caller, stale));
        expect(`${name} ${codeOf(invalid)}`).toBe(`${name} 400 request.invalid`);
      }
    });

    it('can repeat the rejected request with the same key after a fresh authentication (S24)', async () => {
      const { token, session_id } = await service.login('administrator');
      const { user_id } = await service.createUser();
      const request = { token, body: { allowed_ips: [] }, headers: { 'idempotency-key': randomUUID() } };
      const change = async () => codeOf(await service.patch(`/user/all?user_id=${user_id}`, request));
      await age(session_id, stale);
      expect(await change()).toBe(refused);
      await age(session_id, 0);
      expect(await change()).toBe('200');
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
