import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, jwtVerify, SignJWT } from 'jose';

/** A user of the fake service. */
export interface FakeUser {
  user_id: string;
  session_id: string;
  name: string;
  user_type: string;
  carrier_id: string | null;
  roles: string[];
  permissions: string[];
}

/** Settings of a token. */
export interface FakeToken extends Partial<FakeUser> {
  /** seconds until the token expires; default 600 */
  expires_in?: number;
  audience?: string | string[];
  amr?: string[];
}

type SigningKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

interface FakeChange {
  change_id: string;
  type: string;
  target_type: string;
  target_id: string;
  carrier_id: string | null;
  occurred_at: string;
  fields: string[];
}

/**
 * Starts a fake service for tests of modules. It issues tokens and serves verifiers: keys,
 * check-token, introspection, roles and the change feed. It does not check the keys of callers.
 */
export async function fakeIdentity(): Promise<FakeIdentity> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = await exportJWK(publicKey);
  const key = { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'ES256', use: 'sig' };
  const fake = new FakeIdentity(key, privateKey, publicKey);
  await fake.listen();
  return fake;
}

/** A fake service. Its address is `url`. */
export class FakeIdentity {
  /** address of the fake service, which is also the issuer of its tokens */
  url = '';
  /** number of requests by path */
  readonly requests: Record<string, number> = {};
  private readonly server = createServer((request, response) => void this.respond(request, response));
  private readonly users = new Map<string, FakeUser>();
  private readonly apiKeys = new Map<string, { client_id: string; permissions: string[] }>();
  private readonly roles = new Map<string, string[]>([['administrator', ['*']]]);
  private readonly changes: FakeChange[] = [];
  private readonly waiting = new Set<() => void>();
  private isDown = false;
  private heldSince: number | undefined;

  constructor(
    private readonly jwk: JWK,
    private readonly privateKey: SigningKey,
    private readonly publicKey: SigningKey,
  ) {}

  /** Begins to listen on a free port of this machine. */
  async listen(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Stops the fake service. */
  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  /** Returns an access token of a user in a new session. Each field can be set. */
  async token({
    expires_in = 600,
    audience = 'carrier-platform',
    amr = ['pwd'],
    ...given
  }: FakeToken = {}): Promise<string> {
    const [user_id, session_id] = [crypto.randomUUID(), crypto.randomUUID()];
    const base = {
      user_id,
      session_id,
      name: 'ada',
      user_type: 'system',
      carrier_id: null,
      roles: [],
      permissions: [],
    };
    const user: FakeUser = { ...base, ...given };
    if (user.permissions.length > 0 && user.roles.length === 0) {
      // Tokens name roles, so the user gets a role with the permissions.
      user.roles = [`role_${user.user_id.slice(0, 8)}`];
      this.roles.set(user.roles[0] as string, user.permissions);
      this.add('role.created', 'role', user.roles[0] as string);
    }
    this.users.set(user.session_id, user);
    const { roles, user_type, carrier_id } = user;
    const now = Math.floor(Date.now() / 1_000);
    const claims = { client_id: 'carrier-platform', sid: user.session_id, user_type, roles, amr, auth_time: now };
    return new SignJWT({ ...claims, ...(carrier_id !== null && { carrier_id }) })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: String(this.jwk.kid) })
      .setIssuer(this.url)
      .setAudience(audience)
      .setSubject(user.user_id)
      .setJti(crypto.randomUUID())
      .setIssuedAt(now)
      .setExpirationTime(now + expires_in)
      .sign(this.privateKey);
  }

  /** Returns an API key of another module. */
  apiKey(permissions: string[]): string {
    const random = crypto.randomUUID() + crypto.randomUUID();
    const key = `cik_${random.replaceAll('-', '').slice(0, 43)}`;
    this.apiKeys.set(key, { client_id: crypto.randomUUID(), permissions });
    return key;
  }

  /** Ends the session of a token. */
  endSession(token: string): void {
    const { sid } = claimsOf(token);
    this.users.delete(sid);
    this.add('session.ended', 'session', sid);
  }

  /** Disables the user of a token, which ends their sessions. */
  disableUser(token: string): void {
    const { sub } = claimsOf(token);
    for (const [sid, user] of this.users) if (user.user_id === sub) this.users.delete(sid);
    this.add('user.changed', 'user', sub, ['status']);
  }

  /** Gives the user of a token other permissions, as a change of roles does. */
  changePermissions(token: string, permissions: string[]): void {
    const { sub, sid } = claimsOf(token);
    const user = this.users.get(sid);
    if (user !== undefined) user.permissions = permissions;
    this.add('user.changed', 'user', sub, ['roles']);
  }

  /** Creates a role or changes its permissions. */
  setRole(name: string, permissions: string[]): void {
    this.add(this.roles.has(name) ? 'role.changed' : 'role.created', 'role', name);
    this.roles.set(name, permissions);
  }

  /** Responds with 503 to all requests, as during an outage, until `up`. */
  down(): void {
    this.isDown = true;
    this.wake();
  }

  /** Ends an outage. */
  up(): void {
    this.isDown = false;
  }

  /** Holds the feed back, as a long transaction does, until `release`. */
  hold(): void {
    this.heldSince = Date.now() - 3_600_000;
    this.wake();
  }

  /** Lets the feed continue. */
  release(): void {
    this.heldSince = undefined;
    this.wake();
  }

  private add(type: string, target_type: string, target_id: string, fields: string[] = []): void {
    const occurred_at = new Date().toISOString();
    this.changes.push({
      change_id: crypto.randomUUID(),
      type,
      target_type,
      target_id,
      carrier_id: null,
      occurred_at,
      fields,
    });
    if (this.heldSince === undefined) this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    this.requests[pathname] = (this.requests[pathname] ?? 0) + 1;
    const body = Buffer.concat(await request.toArray()).toString();
    const { status, content } = this.isDown
      ? problem(503, 'service.stopping')
      : await this.answer(pathname, searchParams, body);
    const outcome = this.isDown ? problem(503, 'service.stopping') : { status, content };
    response.writeHead(outcome.status, { 'content-type': 'application/json' }).end(JSON.stringify(outcome.content));
  }

  private async answer(
    path: string,
    query: URLSearchParams,
    body: string,
  ): Promise<{ status: number; content: object }> {
    switch (path) {
      case '/.well-known/jwks.json':
        return { status: 200, content: { keys: [this.jwk] } };
      case '/auth/check-token':
        return this.checkToken((JSON.parse(body) as { token: string }).token);
      case '/auth/introspect':
        return { status: 200, content: this.introspect(new URLSearchParams(body).get('token') ?? '') };
      case '/role/list':
        return {
          status: 200,
          content: { items: [...this.roles].map(([name, permissions]) => ({ name, permissions })) },
        };
      case '/user/list':
        return { status: 200, content: { items: [], next_cursor: null, changes_cursor: String(this.changes.length) } };
      case '/change/list':
        return this.changesAfter(Number(query.get('after') ?? 0), Number(query.get('wait') ?? 0));
      default:
        return problem(404, 'request.not_found');
    }
  }

  private async checkToken(token: string): Promise<{ status: number; content: object }> {
    const isSigned = await jwtVerify(token, this.publicKey).then(
      () => true,
      () => false,
    );
    const user = isSigned ? this.users.get(claimsOf(token).sid) : undefined;
    if (user === undefined) return problem(401, 'auth.token_invalid');
    const { session_id, permissions, ...known } = user;
    const session = { session_id, user_id: user.user_id, amr: ['pwd'], auth_time: new Date().toISOString() };
    const ofRoles = permissions.length > 0 ? permissions : user.roles.flatMap((role) => this.roles.get(role) ?? []);
    const content = { active: true, expires_in: 600, refreshed: false, user: known, session, permissions: ofRoles };
    return { status: 200, content };
  }

  private introspect(token: string): object {
    const key = this.apiKeys.get(token);
    if (key === undefined) return { active: false };
    const { client_id, permissions } = key;
    return { active: true, client_id, sub: client_id, scope: permissions.join(' '), carrier_scope: null };
  }

  private async changesAfter(after: number, wait: number): Promise<{ status: number; content: object }> {
    const isHeld = () => this.heldSince !== undefined;
    if (wait > 0 && (isHeld() || this.changes.length <= after))
      await new Promise<void>((resolve) => {
        this.waiting.add(resolve);
        setTimeout(resolve, wait * 1_000).unref();
      });
    const items = isHeld() ? [] : this.changes.slice(after, after + 1_000);
    const behind_seconds = this.heldSince === undefined ? 0 : Math.ceil((Date.now() - this.heldSince) / 1_000);
    return { status: 200, content: { items, next_cursor: String(after + items.length), behind_seconds } };
  }
}

const problem = (status: number, code: string) => ({ status, content: { status, code, title: code } });

function claimsOf(token: string): { sub: string; sid: string } {
  const [, payload = ''] = token.split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub: string; sid: string };
}
