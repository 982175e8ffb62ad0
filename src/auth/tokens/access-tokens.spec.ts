import 'reflect-metadata';
import { generateKeyPairSync, sign } from 'node:crypto';
import { JwtService } from '@nestjs/jwt';
import { systemActor } from '../../access/actor';
import type { Config } from '../../platform/config/config';
import type { Notifications } from '../../platform/database/notifications.service';
import type { CompletedLogin } from '../login/login-completion.service';
import type { SigningKeysService } from '../signing-keys/signing-keys.service';
import { AccessTokens, type TokenLogin } from './access-tokens';
import type { LiveLogin, LiveLoginsService } from './live-logins.service';
import type { RefreshCookie } from './refresh-cookie';
import { actorIn, VerifiedTokens } from './verified-tokens';

const now = Date.parse('2026-11-20T13:00:00.900Z');
const iat = Math.floor(now / 1_000);
const [user_id, session_id] = ['0191f0a0-0000-7000-8000-000000000001', '0191f0a0-0000-7000-8000-000000000002'];
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const header = { alg: 'ES256' as const, typ: 'at+jwt', kid: 'k1' };
const encoded = Buffer.from(JSON.stringify(header)).toString('base64url');
const config = { PUBLIC_URL: 'https://id.example', BASE_PATH: '/id', ACCESS_TOKEN_TTL_SECONDS: 300 };
const jwt = new JwtService({});
const user = { user_id, user_type: 'carrier', carrier_id: 'c1', roles: ['r1'] } as const;
const duties = { must_change_password: false, must_enroll_second_factor: false };
const session = { session_id, amr: ['pwd'], auth_time: new Date(now - 1_500) };
const login: TokenLogin = { user: { ...user, roles: ['r1'], ...duties }, session, grant: null, permissions: ['a:b'] };
const live = { ...login, fresh_until: 5, may_grant: ['r2'] } as unknown as LiveLogin;

/** The two services with keys and logins that stand for the database. */
function setUp() {
  const state = { isRetired: false, version: 1, caughtUp: 0, cached: live as LiveLogin | null, stored: live };
  const keys = {
    signingKey: () => ({ kid: 'k1', private_key: privateKey }),
    publicKeyFor: (text: string, late: boolean) => (text === encoded && (late || !state.isRetired) ? publicKey : null),
    get version() {
      return state.version;
    },
  } as unknown as SigningKeysService;
  const notifications = { caughtUp: async () => void state.caughtUp++ } as unknown as Notifications;
  const settings = { ...config, TOKEN_AUDIENCES: ['api'] } as unknown as Config;
  const tokens = new AccessTokens(jwt, keys, notifications, settings);
  const isOurs = (sid: string, sub: string) => sid === session_id && sub === user_id;
  const cached = (sid: string, sub: string) => (isOurs(sid, sub) ? state.cached : null);
  const read = async (sid: string, sub: string) => (isOurs(sid, sub) ? state.stored : null);
  const logins = { cached, find: async (sid: string, sub: string) => cached(sid, sub), read };
  return { state, tokens, verified: new VerifiedTokens(jwt, keys, logins as unknown as LiveLoginsService, tokens) };
}

const claimsOf = (token: string): Record<string, unknown> => jwt.decode(token);
const issued = { iss: 'https://id.example/id', aud: 'carrier-platform', sub: user_id, sid: session_id };
const claims = { ...issued, iat, exp: iat + 300 };
const payloadOf = (changes: object) => Buffer.from(JSON.stringify({ ...claims, ...changes })).toString('base64url');
const signedText = (payload: string) => {
  const text = `${encoded}.${payload}`;
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
};
const signed = (changes: object) => signedText(payloadOf(changes));

beforeEach(() => jest.useFakeTimers({ now, doNotFake: ['nextTick'] }));
afterEach(() => jest.useRealTimers());

describe('an access token', () => {
  const limited = { grant: { audience: ['api'], permissions: ['a:b'], client_id: 'portal' } };
  const restricted = { user: { ...login.user, must_change_password: true } };
  const limits = { aud: ['api'], client_id: 'portal', roles: undefined };

  it.each<[Partial<TokenLogin>, object]>([
    [{}, {}],
    [{ user: { ...login.user, carrier_id: null } }, { carrier_id: undefined }],
    [restricted, { roles: [] }],
    [limited, { ...limits, permissions: ['a:b'] }],
    [
      { ...limited, ...restricted },
      { ...limits, permissions: [] },
    ],
    [{ grant: { client_id: 'portal' } }, { client_id: 'portal' }],
  ])('has for %j the claims %j', (changes, expected) => {
    const { access_token, ...fields } = setUp().tokens.sign({ ...login, ...changes });
    expect(fields).toEqual({ token_type: 'Bearer', expires_in: 300 });
    const common = { ...claims, jti: expect.any(String), client_id: 'carrier-platform' };
    const own = { user_type: 'carrier', carrier_id: 'c1', roles: ['r1'], amr: ['pwd'], auth_time: iat - 1 };
    expect(claimsOf(access_token)).toEqual({ ...common, ...own, ...expected });
    expect(access_token.split('.')[0]).toBe(encoded);
  });

  it('comes with a refresh token in the body or in the cookie', () => {
    const { tokens } = setUp();
    const written: unknown[] = [];
    const cookie = { write: (...args: unknown[]) => written.push(args) } as unknown as RefreshCookie;
    const refresh = { refresh_token: 'r', expires_at: new Date(now + 60_500) };
    expect(tokens.signPair(login, refresh, null)).toMatchObject({ refresh_token: 'r', refresh_expires_in: 60 });
    const rest = tokens.signPair(login, refresh, cookie);
    const access_token: unknown = expect.any(String);
    expect(rest).toEqual({ access_token, token_type: 'Bearer', expires_in: 300, refresh_expires_in: 60 });
    expect(written).toEqual([['r', 60]]);
  });

  it('is returned only after this instance rejects the replaced sessions', async () => {
    const { state, tokens } = setUp();
    const completed = { ...login, ...session, refresh_token: 'r', expires_at: new Date(now), ended: 0 };
    const response = await tokens.respond(completed as unknown as CompletedLogin, null);
    expect(response).toMatchObject({ session_id, user: login.user, refresh_token: 'r', expires_in: 300 });
    expect(state.caughtUp).toBe(0);
    await tokens.respond({ ...completed, ended: 1 } as unknown as CompletedLogin, null);
    expect(state.caughtUp).toBe(1);
  });

  it('has exactly the limits that a request asks for, and only known audiences (J30)', () => {
    const { tokens } = setUp();
    expect(tokens.limited(systemActor, {})).toBe(systemActor);
    for (const asked of [{ audience: ['api', 'carrier-platform'] }, { permissions: ['a:b'] }, { permissions: [] }])
      expect(tokens.limited(systemActor, asked)).toEqual({ ...systemActor, asked });
    const errors = [expect.objectContaining({ pointer: '/audience', code: 'field.not_allowed' })];
    const rejection = expect.objectContaining({ code: 'request.invalid', extras: { errors } });
    expect(() => tokens.limited(systemActor, { audience: ['api', 'x'] })).toThrow(rejection as Error);
  });
});

describe('the verification of an access token', () => {
  it('returns the claims and the login, from memory once both are known', async () => {
    const { state, verified, tokens } = setUp();
    const token = tokens.sign(login).access_token;
    expect([verified.find(token), verified.known(token)]).toEqual([null, null]);
    expect(await verified.verify(token)).toEqual({ claims: claimsOf(token), login: live });
    const known = verified.find(token);
    expect(verified.claimsOf(token)).toBe(known);
    expect(verified.known(token)).toEqual({ claims: claimsOf(token), login: live });
    state.cached = null;
    expect(verified.known(token)).toBeNull();
    await expect(verified.verify(token)).rejects.toThrow('auth.token_invalid');
  });

  it('uses no cached claims after they expired or the keys changed', () => {
    const { state, verified } = setUp();
    const token = signed({});
    verified.claimsOf(token);
    state.version++;
    expect(verified.find(token)).toBeNull();
    verified.claimsOf(token);
    jest.setSystemTime(claims.exp * 1_000 - 1);
    expect(verified.find(token)).not.toBeNull();
    jest.setSystemTime(claims.exp * 1_000);
    expect(verified.find(token)).toBeNull();
  });

  const [, payload = '', signature = ''] = signed({}).split('.');
  // Both decode to the same bytes as another text.
  const respelt = signature.slice(0, -1) + String.fromCharCode(signature.charCodeAt(85) + 1);
  const longer = `${Buffer.from(JSON.stringify(claims).padEnd(600)).toString('base64url')}A`;
  const forged: Record<string, string> = {
    ...{
      nothing: '',
      'two dots': '..',
      'no signature': `${encoded}.${payload}`,
      'no payload': `${encoded}..${signature}`,
    },
    'an empty signature': `${encoded}.${payload}.`,
    'another header': `e30.${payload}.${signature}`,
    'another part': `${encoded}.${payload}.${signature}.`,
    'a padded payload': `${encoded}.${payload}=.${signature}`,
    'a padded signature': `${encoded}.${payload}.${signature}=`,
    'another spelling of the payload': signedText(longer),
    'another spelling of the signature': `${encoded}.${payload}.${respelt}`,
    'another signature': `${encoded}.${payload}.${'A'.repeat(86)}`,
  };
  it.each([
    ...Object.keys(forged),
    ...[{ iat: 0 }, { iat: -1 }, { iat: iat + 0.5 }, { iat: iat + 6 }, { exp: iat - 5 }, { exp: undefined }],
    ...[{ sub: 'x' }, { sub: `${user_id}0` }, { sub: `0${user_id}` }, { sid: undefined }, { sid: [session_id] }],
    ...[{ aud: ['carrier-platform'] }, { aud: 'other' }, { iss: 'https://id.example' }, { more: 'x'.repeat(4_000) }],
  ])('rejects %j', (wrong) => {
    const { verified } = setUp();
    const token = typeof wrong === 'string' ? (forged[wrong] ?? wrong) : signed(wrong);
    expect(() => verified.claimsOf(token)).toThrow('auth.token_invalid');
  });

  it.each([{ iat: iat + 5 }, { exp: iat - 4 }, { aud: ['api'], permissions: [] }, { more: 'x'.repeat(2_400) }])(
    'accepts the claims %j',
    (changes) => expect(setUp().verified.claimsOf(signed(changes))).toMatchObject(changes),
  );

  it('accepts an expired token and a retired key beside a refresh token only', () => {
    const { state, verified } = setUp();
    state.isRetired = true;
    const expired = signed({ exp: iat - 60 });
    expect(verified.sessionBesideRefresh(expired)).toBe(session_id);
    for (const token of [expired, signed({})]) expect(() => verified.claimsOf(token)).toThrow('auth.token_invalid');
    expect(() => verified.sessionBesideRefresh('e30.e30.AAAA')).toThrow('auth.token_invalid');
  });

  it('reads the login of an actor again from the database', async () => {
    const { state, verified } = setUp();
    state.stored = { ...live, fresh_until: 9 };
    const actor = actorIn(live, systemActor);
    expect(await verified.reread(actor)).toEqual({ ...actor, fresh_until: 9 });
    expect(await verified.loginOf({ sid: session_id, sub: user_id })).toBe(live);
    await expect(verified.reread(systemActor)).rejects.toThrow('auth.token_invalid');
  });

  it.each([
    [null, { audience: undefined, is_limited: false }],
    [{ audience: ['api'] }, { audience: ['api'], is_limited: false }],
    [{ permissions: [] }, { audience: undefined, is_limited: true }],
  ])('returns the actor of a login with the grant %j', (grant, limits) => {
    const times = { session_id, auth_time: session.auth_time, fresh_until: 5 };
    expect(actorIn({ ...live, grant }, systemActor)).toMatchObject({ user_id, ...times, ...limits });
  });
});
