import { randomUUID } from 'node:crypto';
import { document } from '../support/document';
import { createKey } from '../support/keys';
import { accessTokenOf, addSession } from '../support/made-logins';
import { type TestAnswer, type TestRequest, TestService } from '../support/service';

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

const operations = Object.entries(document.paths).flatMap(([path, { head: _, ...methods }]) =>
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
type Operation = (typeof operations)[number];

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
  operations.flatMap((operation) => of(operation).map((variant) => [operation, variant] as const));
/** Every request that needs a fresh authentication. */
const needing = requestsOf((one) => (isFresh(one) ? (variants[one.operationId]?.needing ?? plain(one)) : []));
const others = requestsOf((one) => variants[one.operationId]?.others ?? (isFresh(one) ? [] : plain(one)));

describe('fresh authentication', () => {
  let service: TestService;
  /** an administrator whose sessions and password the requests may end */
  let caller: string;
  beforeAll(async () => {
    service = await TestService.start();
    caller = (await service.createUser({ user_type: 'system', roles: ['administrator'] })).user_id;
    await service.rows(
      `
        insert into users (user_id, user_type, name, email, roles, status, deleted_at)
        values ($1, 'system', 'restorable', 'restorable@example.com', '{operator}', 'active', now())`,
      [restorable],
    );
  });
  afterAll(() => service.close());

  const age = (session_id: string, seconds: number) =>
    service.rows(`update sessions set auth_time = now() - make_interval(secs => $2) where session_id = $1`, [
      session_id,
      seconds,
    ]);
  /** Returns an access token of a new session, whose authentication has an age in seconds. */
  async function tokenOf(user_id: string, seconds: number): Promise<string> {
    const { session_id } = await addSession(service, user_id);
    await age(session_id, seconds);
    return accessTokenOf(service, { user_id, session_id });
  }
  const outcome = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();
  const send = ({ method, path }: Operation, [query, request]: Variant, token: string) =>
    service.send(method, `${path}?${query}`.replace(/\?$/, ''), { token, ...request });

  it('is required after FRESH_AUTH_SECONDS in exactly the requests that the OpenAPI document marks (S24)', async () => {
    const conditional = operations.filter((operation) => operation['x-fresh-auth-if'] !== undefined);
    expect(conditional.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(variants).sort());
    expect(needing.length).toBeGreaterThanOrEqual(15);
    for (const [operation, variant] of needing) {
      const answer = await send(operation, variant, await tokenOf(caller, stale));
      expect(`${operation.name} ${outcome(answer)}`).toBe(`${operation.name} ${refused}`);
      expect(answer.headers['www-authenticate']).toBe(challenge);
    }
    for (const [operation, variant] of others) {
      const answer = await send(operation, variant, await tokenOf(caller, stale));
      expect(`${operation.name} ${outcome(answer)}`).not.toMatch(refusedOrFailed);
    }
  });

  it('is not required within FRESH_AUTH_SECONDS, or for API keys (S24)', async () => {
    const { key } = await createKey(service, ['*']);
    for (const [operation, variant] of needing) {
      const bySession = await send(operation, variant, await tokenOf(caller, fresh));
      expect(`${operation.name} ${outcome(bySession)}`).not.toContain(' 401');
      const byKey = await send(operation, variant, key);
      expect(`${operation.name} ${outcome(byKey)}`).not.toContain(' 401');
      expect([operation.name, byKey.status === 403]).toEqual([operation.name, operation['x-keys'] !== true]);
    }
  });

  it('is checked after the permission and the validity of the request (S24)', async () => {
    const user = await service.createUser({ user_type: 'system' });
    for (const [operation, [query, request]] of needing) {
      const { name, needsPermission } = operation;
      if (needsPermission) {
        const denied = await send(operation, [query, request], await tokenOf(user.user_id, stale));
        expect(`${name} ${outcome(denied)}`).toBe(`${name} 403 access.denied`);
      }
      const { body } = request;
      const wrong: Variant =
        typeof body === 'object'
          ? [query, { ...request, body: { ...body, nothing: 1 } }]
          : [`${query}&nothing=1`.replace(/^&/, ''), request];
      const invalid = await send(operation, wrong, await tokenOf(caller, stale));
      expect(`${name} ${outcome(invalid)}`).toBe(`${name} 400 request.invalid`);
    }
  });

  it('lets a client repeat the rejected request with the same idempotency key (S24)', async () => {
    const { token, session_id } = await service.login('administrator');
    const { user_id } = await service.createUser();
    const request = { token, body: { allowed_ips: [] }, headers: { 'idempotency-key': randomUUID() } };
    const change = async () => outcome(await service.patch(`/user/all?user_id=${user_id}`, request));
    await age(session_id, stale);
    expect(await change()).toBe(refused);
    await age(session_id, 0);
    expect(await change()).toBe('200');
  });
});
