// All ways to revoke the access of a token. `revoke` applies each to a victim on the first
// instance, by default as an administrator.
const { createHash, randomBytes } = require('node:crypto');
const { PASSWORD } = require('./fill');

const NEW_PASSWORD = 'staple battery horse correct 17';
const ROLE = 'bench-role';
const SESSIONS_PER_USER = 20;
const RESET = `insert into one_time_tokens (user_id, purpose, token_hash, email, requested_at, expires_at)
  values ($1, 'reset', $2, '', now(), now() + interval '1 hour')`;

let edits = 0;

/** Changes the roles of the victim before the victim is used. */
const withRoles = (roles) => (client, user_id) =>
  client.query('update users set roles = $2 where user_id = $1', [user_id, roles]);

const patchUser = (body) => (scene) => scene.send('PATCH', `/user/${scene.victim.user_id}`, { body });
const patchFound = (body) => (scene) => scene.send('PATCH', `/user/all?user_id=${scene.victim.user_id}`, { body });

/** Creates a reset link as the mail job does, and returns a function that uses the link. */
async function resetPassword({ client, send, victim }) {
  const token = randomBytes(32).toString('base64url');
  await client.query(RESET, [victim.user_id, createHash('sha256').update(token).digest()]);
  return () => send('POST', `/auth/reset/${token}`, { token: undefined, body: { password: NEW_PASSWORD } });
}

/** Refreshes twice, so that the first token is not the predecessor of the current token. */
async function reuseToken({ send, victim }) {
  const refresh = (refresh_token) => send('POST', '/auth/check-token', { token: undefined, body: { refresh_token } });
  const next = await refresh(victim.refresh_token);
  await refresh(JSON.parse(next.body).refresh_token);
  return () => refresh(victim.refresh_token);
}

/**
 * - `prepare` sends preparatory requests and returns `revoke`
 * - `sessions` is the number of sessions of the victim, by default 1; the token under test belongs
 * to the least recently used session
 * - `status` is the expected status if it is an error
 */
const KINDS = [
  {
    name: 'logout',
    revoke: ({ send, victim }) => send('POST', '/auth/logout', { token: victim.access_token, body: {} }),
  },
  { name: 'session ended', revoke: ({ send, victim }) => send('DELETE', `/auth/session/${victim.session_id}`) },
  {
    name: 'sessions ended by filter',
    revoke: ({ send, victim }) => send('DELETE', `/auth/session/all?user_id=${victim.user_id}`),
  },
  {
    name: 'other sessions ended',
    sessions: 2,
    revoke: ({ send, others }) => send('DELETE', '/auth/session/all', { token: others[0].access_token }),
  },
  {
    name: '21st login',
    sessions: SESSIONS_PER_USER,
    revoke: ({ send, victim }) =>
      send('POST', '/auth/login', { token: undefined, body: { login: victim.name, password: PASSWORD } }),
  },
  { name: 'refresh token reused', login: true, prepare: reuseToken, status: 401 },
  { name: 'user disabled', revoke: patchUser({ status: 'disabled' }) },
  { name: 'user deleted', revoke: ({ send, victim }) => send('DELETE', `/user/${victim.user_id}`) },
  { name: 'user purged', revoke: ({ send, victim }) => send('DELETE', `/user/${victim.user_id}?purge=true`) },
  { name: 'addresses narrowed', revoke: patchUser({ allowed_ips: ['192.0.2.0/24'] }) },
  { name: 'roles changed', revoke: patchUser({ roles: ['carrier_administrator'] }) },
  {
    name: 'role edited',
    before: withRoles([ROLE]),
    revoke: ({ send }) => send('PATCH', `/role/${ROLE}`, { body: { permissions: [`bench:edit-${++edits}`] } }),
  },
  { name: 'scope changed', user_type: 'system', revoke: patchUser({ carrier_scope: ['carrier-1'] }) },
  {
    name: 'password to be changed',
    before: withRoles(['carrier_administrator']),
    revoke: patchUser({ must_change_password: true }),
  },
  { name: 'password reset', prepare: resetPassword },
  {
    name: 'password changed',
    sessions: 2,
    revoke: ({ send, others }) =>
      send('POST', '/auth/password', {
        token: others[0].access_token,
        body: { current_password: PASSWORD, new_password: NEW_PASSWORD },
      }),
  },
  { name: 'bulk status', revoke: patchFound({ status: 'disabled' }) },
  { name: 'bulk roles', revoke: patchFound({ roles_add: ['carrier_administrator'] }) },
  { name: 'bulk delete', revoke: ({ send, victim }) => send('DELETE', `/user/all?user_id=${victim.user_id}`) },
];

/** Adds the role that `role edited` changes. */
async function addRole(client) {
  await client.query(
    `insert into roles (name, description, user_types, permissions)
     values ($1, 'edited by the benchmark', '{carrier}', '{bench:read}')`,
    [ROLE],
  );
}

module.exports = { addRole, KINDS };
