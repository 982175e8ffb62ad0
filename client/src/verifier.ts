import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose';
import { IdentityError, isInvalidToken } from './errors.js';
import { FeedState } from './feed-state.js';
import { createIdentity } from './identity.js';
import type { ClientOptions } from './transport.js';
import type { Identity } from './types.js';

/** The user or API key of a request. */
export interface Caller {
  /** `key` for calls of other modules */
  kind: 'user' | 'key';
  /** id of the user or key */
  id: string;
  /** login name; only if the service checked the token */
  name?: string;
  session_id?: string | undefined;
  user_type?: 'system' | 'carrier' | (string & {}) | undefined;
  /** carrier of a Carrier User, or of their key */
  carrier_id: string | null;
  /** carriers that an API key is limited to; null means all */
  carrier_scope?: string[] | null;
  /** empty for limited tokens and keys */
  roles: string[];
  /** `*` grants all permissions */
  permissions: string[];
  /** authentication methods (RFC 8176): contains `mfa` after two factors */
  amr: string[];
  /** last time the user authenticated, in seconds since 1970 */
  auth_time?: number | undefined;
  /** Returns whether the caller has a permission. */
  can(permission: string): boolean;
}

/** Settings of a verifier. */
export interface VerifierOptions extends Pick<ClientOptions, 'url' | 'key' | 'fetch'> {
  /**
   * - `offline`: signature and claims only. Changes take effect when the token expires.
   * - `feed`: offline, and the change feed. Changes take effect within a second.
   *   The key needs `change:read`, `role:read` and `user:read`, and no carrier scope.
   * - `check`: `POST /auth/check-token` for each token. Changes take effect after `cache` seconds.
   */
  mode: 'offline' | 'feed' | 'check';
  /** `iss` of tokens: `PUBLIC_URL` of the service with its base path; default `url` */
  issuer?: string;
  /** name of the module in `TOKEN_AUDIENCES`; default `carrier-platform` */
  audience?: string;
  /** permissions of roles in mode `offline`: tokens name only roles. `administrator` has `*` */
  roles?: Record<string, string[]>;
  /** also accepts API keys of other modules; the key needs `token:introspect` */
  apiKeys?: boolean;
  /** seconds that responses about a token are reused; default 5, in mode `feed` 1 */
  cache?: number;
  /** number of tokens in the cache; default 10,000 */
  cacheSize?: number;
  /** seconds that the clocks of this machine and the service may differ; default 5 */
  clockTolerance?: number;
  /** milliseconds until a check fails as unavailable; default 3,000 */
  timeout?: number;
  /** mode `feed`: seconds without a response after which each token is checked; default 10 */
  maxDelay?: number;
  /** mode `feed`: seconds for which changes are kept; default 3,600 */
  retention?: number;
  /** mode `feed`: maximum number of users, and of sessions, that are kept; default 100,000 */
  capacity?: number;
  /** called with each error of the feed; default: emits a process warning */
  onError?: (error: unknown) => void;
}

/** Checks tokens. */
export interface Verifier {
  /**
   * Returns the user or key of a token.
   * @throws IdentityError `auth.token_invalid` (401), or another code if the check failed
   */
  verify(token: string): Promise<Caller>;
  /** Whether tokens are checked without asking the service, in mode `feed`. */
  readonly current: boolean;
  /** Stops following the change feed. */
  close(): void;
}

/** Time until all instances of the service apply a change that the feed contains. */
const settleMs = 2_000;
/** Errors of jose which mean that the service sent no key set. */
/** Other text cannot be an API key, and causes no request. */
const keyForm = /^cik_[\w-]{43}$/;
const noKeySet = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'];

/** Creates a verifier. Use one per process: it caches keys, tokens and changes. */
export function verifier(options: VerifierOptions): Verifier {
  return new TokenVerifier(options);
}

interface Answer {
  /** undefined if the token is invalid */
  caller: Caller | undefined;
  askedAt: number;
}

class TokenVerifier implements Verifier {
  private readonly identity: Identity;
  private readonly keys: ReturnType<typeof createRemoteJWKSet>;
  private readonly feed: FeedState | undefined;
  private readonly answers = new Map<string, Answer>();
  private readonly asking = new Map<string, Promise<Answer>>();

  constructor(private readonly options: VerifierOptions) {
    const { url, mode, timeout = 3_000, maxDelay = 10, retention = 3_600, capacity = 100_000 } = options;
    this.identity = createIdentity({ ...options, retries: 0, timeout });
    const keySet = new URL(`${url.replace(/\/+$/, '')}/.well-known/jwks.json`);
    const caching = { cacheMaxAge: 300_000, timeoutDuration: timeout };
    this.keys = createRemoteJWKSet(keySet, { ...caching, ...(options.fetch && { [customFetch]: options.fetch }) });
    const onError = options.onError ?? ((error) => process.emitWarning(`carrier-identity: ${String(error)}`));
    if (mode === 'feed') this.feed = new FeedState(this.identity, { maxDelay, retention, capacity, onError });
  }

  get current(): boolean {
    return this.feed?.isCurrent() ?? true;
  }

  close(): void {
    this.feed?.stop();
  }

  async verify(token: string): Promise<Caller> {
    if (this.options.apiKeys && keyForm.test(token)) return this.ask(token, () => this.introspect(token));
    const claims = await this.claimsOf(token);
    const known = this.withoutAsking(claims);
    return known ?? this.ask(token, () => this.check(token), claims);
  }

  /** Rejects forged tokens before anything else: they cause no requests. */
  private async claimsOf(token: string): Promise<JWTPayload> {
    const { url, issuer = url.replace(/\/+$/, ''), audience = 'carrier-platform', clockTolerance = 5 } = this.options;
    const limits = { clockTolerance, requiredClaims: ['sub', 'exp', 'iat'] };
    const rules = { ...limits, issuer, audience, typ: 'at+jwt', algorithms: ['ES256'] };
    try {
      return (await jwtVerify(token, this.keys, rules)).payload;
    } catch (error) {
      if (error instanceof errors.JOSEError && !noKeySet.includes(error.code)) throw invalid(error);
      throw unavailable('The keys of the service cannot be fetched.', error);
    }
  }

  /** Returns the caller if the token, or the token and the feed, suffice to decide. */
  private withoutAsking(claims: JWTPayload): Caller | undefined {
    if (this.options.mode === 'check') return undefined;
    if (this.feed?.hasEnded(String(claims['sid']))) throw invalid();
    const issuedAt = ((claims.iat ?? 0) - (this.options.clockTolerance ?? 5)) * 1_000;
    const isNewer = this.feed && issuedAt > this.feed.changedAt(String(claims.sub));
    if (this.feed && !(isNewer && this.feed.isCurrent())) return undefined;
    const roles = (claims['roles'] ?? []) as string[];
    const named = { administrator: ['*'], ...this.options.roles };
    const ofRoles = this.feed ? this.feed.permissionsOf(roles) : roles.flatMap((role) => lookUp(named, role));
    const permissions = (claims['permissions'] as string[] | undefined) ?? ofRoles;
    return permissions && callerOf(claims, permissions);
  }

  /** Checks a token with the service (single flight), and caches the result while it is valid. */
  private async ask(token: string, request: () => Promise<Caller>, claims?: JWTPayload): Promise<Caller> {
    let answer = this.answers.get(token);
    if (answer === undefined || !this.holds(answer, claims)) {
      const running = this.asking.get(token) ?? this.start(token, request);
      answer = await running;
      // The request was sent before a change that the feed has reported since.
      if (
        answer.caller &&
        claims &&
        this.feed?.isCurrent() &&
        answer.askedAt <= this.feed.changedAt(String(claims.sub))
      )
        answer = await (this.asking.get(token) ?? this.start(token, request));
    }
    if (answer.caller === undefined) throw invalid();
    return answer.caller;
  }

  private start(token: string, request: () => Promise<Caller>): Promise<Answer> {
    const askedAt = Date.now();
    const running = request()
      .catch((error: unknown) => {
        if (isInvalidToken(error)) return undefined;
        throw error;
      })
      .then((caller) => {
        const answer = { caller, askedAt };
        this.answers.delete(token);
        this.answers.set(token, answer);
        const [oldest] = this.answers.keys();
        if (this.answers.size > (this.options.cacheSize ?? 10_000) && oldest !== undefined) this.answers.delete(oldest);
        return answer;
      })
      .finally(() => this.asking.delete(token));
    this.asking.set(token, running);
    return running;
  }

  /** Whether a cached result is still valid. A rejected access token never becomes valid. */
  private holds({ caller, askedAt }: Answer, claims?: JWTPayload): boolean {
    if (claims && caller === undefined) return true;
    const { cache = this.feed && claims ? 1 : 5 } = this.options;
    const isYoung = Date.now() - askedAt < cache * 1_000;
    if (!claims || !this.feed?.isCurrent()) return isYoung;
    const age = askedAt - this.feed.changedAt(String(claims.sub));
    return age > settleMs || (age > 0 && isYoung);
  }

  private async check(token: string): Promise<Caller> {
    const { user, session, permissions } = await this.identity.auth.checkToken({ token });
    const { user_id: id, name, user_type, roles } = user;
    const { session_id, amr } = session;
    const auth_time = Math.floor(Date.parse(session.auth_time) / 1_000);
    const carrier_id = user.carrier_id ?? null;
    return withCan({ kind: 'user', id, name, session_id, user_type, carrier_id, roles, permissions, amr, auth_time });
  }

  private async introspect(token: string): Promise<Caller> {
    const known = await this.identity.auth.introspect({ token });
    if (!known.active || known.client_id === undefined || known.sid !== undefined) throw invalid();
    const { client_id: id, carrier_id = null, carrier_scope = null, scope = '' } = known;
    const permissions = scope.split(' ').filter((permission) => permission !== '');
    return withCan({ kind: 'key', id, carrier_id, carrier_scope, roles: [], permissions, amr: [] });
  }
}

const lookUp = (roles: Record<string, string[]>, role: string) => (Object.hasOwn(roles, role) ? roles[role]! : []);

function callerOf(claims: JWTPayload, permissions: string[]): Caller {
  const {
    sub = '',
    sid,
    user_type,
    carrier_id = null,
    roles = [],
    amr = [],
    auth_time,
  } = claims as Record<string, never>;
  const user = { kind: 'user' as const, id: sub, session_id: sid, user_type, carrier_id, roles, permissions };
  return withCan({ ...user, amr, auth_time });
}

function withCan(caller: Omit<Caller, 'can'>): Caller {
  const granted = new Set(caller.permissions);
  return { ...caller, can: (permission) => granted.has('*') || granted.has(permission) };
}

function invalid(cause?: unknown): IdentityError {
  const detail = 'The token is invalid, expired or revoked.';
  return new IdentityError({ code: 'auth.token_invalid', status: 401, detail }, undefined, { cause });
}

function unavailable(detail: string, cause: unknown): IdentityError {
  return new IdentityError({ code: 'client.unreachable', status: 0, detail }, 1, { cause });
}
