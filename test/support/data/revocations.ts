import { hashToken, mintToken } from '../../../src/platform/random';
import { addSession, type MadeLogin, type MadeUsers, rotated } from './made-logins';
import { password, type TestAnswer, type TestService } from '../service';
import { changeSession } from './session-rows';

/** A user whose session or permissions are about to be revoked. */
export interface Victim extends MadeLogin {
  token: string;
  /** the previous refresh token, still within the grace period */
  predecessor: string;
}

/** A way to revoke something from a session or its user. */
export interface Revocation {
  /** the users to revoke from */
  users?: Omit<MadeUsers, 'prefix'>;
  /** prepares the user */
  prepare?: (victim: Victim, service: TestService) => Promise<void>;
  /** revokes, and fails unless the response acknowledges it */
  act: (victim: Victim, service: TestService) => Promise<void>;
  /** whether a response of check-token shows the new state; by default, that it is 401 */
  isAfter?: (answer: TestAnswer) => boolean;
  /** reason of the end of the session; null if it continues */
  reason: string | null;
}

/** Sends a request and fails unless it succeeds. */
async function done(answer: Promise<TestAnswer>): Promise<void> {
  const { status, text } = await answer;
  if (status !== 200 && status !== 204) throw new Error(`not done: ${status} ${text}`);
}

const patch = (change: object) => (victim: Victim, service: TestService) =>
  done(service.patch(`/user/${victim.user_id}`, { ...service.admin, body: change }));
const remove = (path: (victim: Victim) => string) => (victim: Victim, service: TestService) =>
  done(service.delete(path(victim), service.admin));

/** Returns a token of another session of the same user. */
async function anotherToken({ user_id }: Victim, service: TestService): Promise<string> {
  return (await rotated(service, (await addSession(service, user_id)).refresh_token)).token;
}
const others = new Map<string, string>();
const openAnother = async (victim: Victim, service: TestService) =>
  void others.set(victim.user_id, await anotherToken(victim, service));
const byAnother = ({ user_id }: Victim) => others.get(user_id) as string;

/** Inserts the one-time token of a mail, because no mail is read here. */
async function putResetToken({ user_id, email, session_id }: Victim, service: TestService): Promise<void> {
  const token = mintToken();
  others.set(session_id, token);
  await service.rows(
    `
      insert into one_time_tokens (user_id, purpose, token_hash, email, requested_at, expires_at)
      values ($1, 'reset', $2, $3, now(), now() + interval '1 hour')`,
    [user_id, hashToken(token), email],
  );
}

const nothingAllowed = ({ status, body }: TestAnswer) => status === 200 && (body.permissions as string[]).length === 0;
const manager = { roles: ['carrier_administrator'] };
const roleOf = ({ user_id }: Victim) => `role-${user_id}`;

/** Creates a role that only this user has, so that its change affects no other user. */
async function giveOwnRole(victim: Victim, service: TestService): Promise<void> {
  await service.rows(`insert into roles (name, user_types, permissions) values ($1, '{carrier}', '{user:read}')`, [
    roleOf(victim),
  ]);
  await service.rows('update users set roles = array[$2] where user_id = $1', [victim.user_id, roleOf(victim)]);
}

const newPassword = { current_password: password, new_password: 'a quite different phrase' };

/** Ways to revoke, by name. Triggers of the tables notify, so bulk changes are not among them. */
export const revocations: Record<string, Revocation> = {
  logout: {
    act: (victim, service) => done(service.post('/auth/logout', { token: victim.token, body: {} })),
    reason: 'logout',
  },
  'session revoked': { act: remove(({ session_id }) => `/auth/session/${session_id}`), reason: 'revoked' },
  'other sessions of the user ended': {
    prepare: openAnother,
    act: (victim, service) => done(service.delete('/auth/session/all', { token: byAnother(victim) })),
    reason: 'revoked',
  },
  'token reused': {
    prepare: (victim, service) => changeSession(service, victim, `refreshed_at = refreshed_at - interval '10 s'`),
    act: async (victim, service) => {
      const { status } = await service.post('/auth/check-token', { body: { refresh_token: victim.predecessor } });
      if (status !== 401) throw new Error(`reuse was not found: ${status}`);
    },
    reason: 'token_reuse',
  },
  'user disabled': { act: patch({ status: 'disabled' }), reason: 'user_disabled' },
  'user deleted': { act: remove(({ user_id }) => `/user/${user_id}`), reason: 'user_deleted' },
  'user purged': { act: remove(({ user_id }) => `/user/${user_id}?purge=true`), reason: 'purged' },
  'password changed': {
    prepare: openAnother,
    act: (victim, service) => done(service.post('/auth/password', { token: byAnother(victim), body: newPassword })),
    reason: 'password_changed',
  },
  'password reset': {
    prepare: putResetToken,
    act: ({ session_id }, service) =>
      done(service.post(`/auth/reset/${others.get(session_id)}`, { body: { password: newPassword.new_password } })),
    reason: 'password_changed',
  },
  'address not allowed': { act: patch({ allowed_ips: ['198.51.100.0/24'] }), reason: 'ip_not_allowed' },
  'role removed': { users: manager, act: patch({ roles: [] }), isAfter: nothingAllowed, reason: null },
  'permissions of the role removed': {
    prepare: giveOwnRole,
    act: async (victim, service) =>
      void (await service.rows(`update roles set permissions = '{}' where name = $1`, [roleOf(victim)])),
    isAfter: nothingAllowed,
    reason: null,
  },
  'scope narrowed': {
    users: { user_type: 'system', roles: ['operator'] },
    act: patch({ carrier_scope: ['c1'] }),
    isAfter: ({ status, body }) => status === 200 && JSON.stringify(body.user.carrier_scope) === '["c1"]',
    reason: null,
  },
  'name changed': {
    act: patch({ first_name: 'Another' }),
    isAfter: ({ status, body }) => status === 200 && body.user.first_name === 'Another',
    reason: null,
  },
  'password change required': {
    users: manager,
    act: patch({ must_change_password: true }),
    isAfter: nothingAllowed,
    reason: null,
  },
};
