import { randomUUID } from 'node:crypto';
import type { AccessTokens } from '../../../src/auth/tokens/access-tokens';
import { document } from '../../support/document';
import { createKey } from '../../support/keys';
import { addSession } from '../../support/made-logins';
import { type TestAnswer, type TestRequest, TestService } from '../../support/service';

const refused = '401 auth.reauthentication_required';
const challenge = 'Bearer error="insufficient_user_authentication", max_age="300"';
const csv = { 'content-type': 'text/csv' };
const file = 'user_type,name,email\nsystem,ann,ann@example.com';

interface Documented {
  name: string;
  method: string;
  path: string;
  id: string;
  public: boolean;
  permission: boolean;
  fresh: boolean;
  conditional: boolean;
  keys: boolean;
  /** the example of the body, with its media type */
  request: Pick<TestRequest, 'body' | 'headers'>;
}

/** Id of a deleted user with a role. */
const restorable = randomUUID();

const operations = Object.entries(document.paths).flatMap(([path, { head: _, ...methods }]) =>
  Object.entries(methods).map(([method, operation]): Documented => {
    const { operationId: id, requestBody } = operation as typeof operation & {
      requestBody?: { content: Record<string, { example: unknown }> };
    };
    const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
    const given = type === undefined ? {} : { body: content?.example, headers: { 'content-type': type } };
    return {
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: path
        .replace('{role}', 'no-such-role')
        .replace(/\{\w+\}/g, path.endsWith('/restore') ? restorable : randomUUID()),
      id,
      public: operation['x-permission'] === 'none',
      permission: !['none', 'any login'].includes(operation['x-permission'] ?? ''),
      fresh: operation['x-fresh-auth'] === true,
      conditional: operation['x-fresh-auth-if'] !== undefined,
      keys: operation['x-keys'] === true,
      request: given,
    };
  }),
);
/** A query, and a body with its media type. */
type Variant = [query: string, request: Pick<TestRequest, 'body' | 'headers'>];
const one = `user_id=${randomUUID()}`;
const assignments = [
  { roles: ['operator'] },
  { carrier_scope: ['c1'] },
  { allowed_ips: ['192.0.2.0/24'] },
  { second_factor_required_from: null },
  { status: 'active' },
  { status: 'invited' },
];
const additions = [{ roles_add: ['operator'] }, { roles_remove: ['operator'] }];

/** Requests that need a fresh authentication, and other requests of the same operations. */
const variants: Record<string, { needing: Variant[]; others: Variant[] }> = {
  createUser: {
    needing: [['', { body: { user_type: 'system', name: 'fresh-1', email: 'f1@example.com', roles: ['operator'] } }]],
    others: [['', { body: { user_type: 'system', name: 'fresh-2', email: 'f2@example.com', roles: [] } }]],
  },
  changeUser: {
    needing: [...assignments, { email: 'new@example.com' }].map((body): Variant => ['', { body }]),
    others: [['', { body: { timezone: 'Europe/Vienna', status: 'disabled' } }]],
  },
  restoreUser: { needing: [['', {}]], others: [] },
  deleteUser: { needing: [['purge=true', {}]], others: [['', {}]] },
  changeUsers: {
    needing: [...assignments, ...additions].map((body): Variant => [one, { body }]),
    others: [
      [one, { body: { timezone: 'Europe/Vienna', status: 'disabled' } }],
      [`${one}&dry_run=true`, { body: { roles: ['operator'], status: 'active' } }],
    ],
  },
  deleteUsers: { needing: [[one, {}]], others: [[`${one}&dry_run=true`, {}]] },
  exportUsers: {
    needing: [[`${one}&hashes=true&format=ndjson`, {}]],
    others: [[one, {}]],
  },
  createExportLink: {
    needing: [[`${one}&hashes=true&format=ndjson`, {}]],
    others: [[one, {}]],
  },
  importUsers: {
    needing: [['', { body: file, headers: csv }]],
    others: [['dry_run=true', { body: file, headers: csv }]],
  },
};

const plain = ({ request }: Documented): Variant[] => [['', request]];
/** every request that needs a fresh authentication */
const needing = operations
  .filter(({ fresh }) => fresh)
  .flatMap((operation) =>
    (variants[operation.id]?.needing ?? plain(operation)).map((variant) => [operation, variant] as const),
  );
const others = operations.flatMap((operation) =>
  (variants[operation.id]?.others ?? (operation.fresh ? [] : plain(operation))).map(
    (variant) => [operation, variant] as const,
  ),
);

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

  /** Returns a token of a new session that authenticated some minutes ago. */
  async function tokenOf(user_id: string, minutes: number): Promise<string> {
    const { session_id } = await addSession(service, user_id);
    await service.rows(
      `
        update sessions
        set auth_time = now() - $2 * interval '1 minute'
        where session_id = $1`,
      [session_id, minutes],
    );
    const authentication = { amr: ['pwd'], auth_time: new Date() };
    const duties = { must_change_password: false, must_enroll_second_factor: false };
    const login = {
      user: { user_id, user_type: 'system' as const, roles: [], carrier_id: null, ...duties },
      session: { session_id, ...authentication },
      grant: null,
      permissions: [],
    };
    return (await service.inside<AccessTokens>('AccessTokens').sign(login)).access_token;
  }
  const staleToken = (user_id = caller) => tokenOf(user_id, 10);
  const outcome = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();
  const send = (operation: Documented, [query, request]: Variant, token: string) =>
    service.send(operation.method, `${operation.path}?${query}`.replace(/\?$/, ''), { token, ...request });

  it('rejects an old authentication in exactly the requests that the document describes (S24)', async () => {
    const conditional = operations.filter((operation) => operation.conditional).map(({ id }) => id);
    expect(conditional.sort()).toEqual(Object.keys(variants).sort());
    expect(needing.length).toBeGreaterThanOrEqual(15);
    for (const [operation, variant] of needing) {
      const answer = await send(operation, variant, await staleToken());
      expect(`${operation.name} ${outcome(answer)}`).toBe(`${operation.name} ${refused}`);
      expect(answer.headers['www-authenticate']).toBe(challenge);
    }
    for (const [operation, variant] of others) {
      const answer = await send(operation, variant, await staleToken());
      expect(`${operation.name} ${outcome(answer)}`).not.toContain(refused);
    }
  });

  it('accepts the same requests after a fresh authentication, and those of API keys (S24)', async () => {
    const { key } = await createKey(service, ['*']);
    for (const [operation, variant] of needing) {
      const fresh = await send(operation, variant, await tokenOf(caller, 4));
      expect(`${operation.name} ${outcome(fresh)}`).not.toContain(' 401');
      const byKey = await send(operation, variant, key);
      expect(`${operation.name} ${outcome(byKey)}`).not.toContain(' 401');
      expect(byKey.status === 403).toBe(!operation.keys);
    }
  });

  it('returns a missing permission and an invalid request before the old authentication (S24)', async () => {
    const user = await service.createUser({ user_type: 'system' });
    for (const [operation, [query, request]] of needing) {
      if (operation.permission) {
        const denied = await send(operation, [query, request], await staleToken(user.user_id));
        expect(`${operation.name} ${outcome(denied)}`).toBe(`${operation.name} 403 access.denied`);
      }
      const { body } = request;
      const wrong: Variant =
        typeof body === 'object'
          ? [query, { ...request, body: { ...body, nothing: 1 } }]
          : [`${query}&nothing=1`.replace(/^&/, ''), request];
      const invalid = await send(operation, wrong, await staleToken());
      expect(`${operation.name} ${outcome(invalid)}`).toBe(`${operation.name} 400 request.invalid`);
    }
  });

  it('lets a client repeat the request with its idempotency key after a reauthentication (S24)', async () => {
    const stale = await service.login('administrator');
    const age = (minutes: number) =>
      service.rows(`update sessions set auth_time = now() - $2 * interval '1 minute' where session_id = $1`, [
        stale.session_id,
        minutes,
      ]);
    const { user_id } = await service.createUser();
    const request = { token: stale.token, body: { allowed_ips: [] }, headers: { 'idempotency-key': randomUUID() } };
    const change = () => service.patch(`/user/all?user_id=${user_id}`, request);
    await age(10);
    expect(outcome(await change())).toBe(refused);
    await age(0);
    expect(outcome(await change())).toBe('200');
  });

  it('ends the freshness exactly after FRESH_AUTH_SECONDS (S24)', async () => {
    const attempt = async (token: string) => outcome(await service.delete('/role/no-such-role', { token }));
    expect(await attempt(await tokenOf(caller, 4.95))).toBe('404 role.not_found');
    expect(await attempt(await tokenOf(caller, 5.01))).toBe(refused);
  });
});
