// Users whose tokens are revoked, each once.
const { choose } = require('./fill');
const { Logins } = require('./logins');

const BY_TYPE = (user_type) =>
  `user_type = '${user_type}' and status = 'active' and roles in ('{carrier_user}', '{operator}')`;
/** Ends the sessions of earlier measurements, which a login would otherwise end first. */
const END_OLDER = `
  update sessions
  set ended_at = now(), ended_reason = 'logout'
  where user_id = $1 and ended_at is null`;
/** The first session is the least recently used, by less than the resolution of `last_seen_at`. */
const SESSIONS = `
  insert into sessions (
    session_id, user_id, user_type, carrier_id, refresh_token_hash,
    refreshed_at, last_seen_at, expires_at, absolute_expires_at
  )
  select gen_random_uuid(), user_id, user_type, carrier_id, '',
    now(), now() - case when i = 1 then interval '30 s' else interval '0' end,
    now() + interval '1 day', now() + interval '30 days'
  from users cross join generate_series(1, $2::integer) i
  where user_id = $1
  order by i
  returning session_id, user_id, user_type, carrier_id`;

class Victims {
  constructor(client, made, service) {
    this.client = client;
    this.made = made;
    this.logins = new Logins(service, []);
  }

  /** Finds enough users. */
  async find(carriers, systems) {
    const find = (user_type, count) => choose(this.client, BY_TYPE(user_type), count);
    this.free = { carrier: await find('carrier', carriers), system: await find('system', systems) };
  }

  /**
   * Returns a user for a kind of revocation, with sessions and tokens, or null if no user is left.
   */
  async next({ user_type = 'carrier', before, login = false, sessions = 1 }) {
    const user = this.free[user_type].pop();
    if (user === undefined) return null;
    await this.client.query(END_OLDER, [user.user_id]);
    await before?.(this.client, user.user_id);
    if (login) return { victim: { ...user, ...(await this.logins.open(user)) }, others: [] };
    const { rows } = await this.client.query(SESSIONS, [user.user_id, sessions]);
    const [first, ...others] = await this.made.sign(rows.map((session) => ({ ...session, roles: [] })));
    return { victim: { ...user, ...first }, others };
  }
}

module.exports = { Victims };
