import { sql, type SqlFragment } from '../../http/lists/sql';

/** Renders whether a user logged in from an address within the last 30 days. */
export function isKnownSql(user_id: string | null, address: string | null): SqlFragment {
  return sql`exists (
            select from login_attempts known
            where known.account = ${user_id}::text and known.address = ${address}::text and known.known_until > now()
          )`;
}

/**
 * Renders whether the address of a written counter is new: the user has logged in before, but not
 * from this address within the last 30 days. Reads the state before the statement.
 */
export function isNewSql(user_id: string, address: string | null): SqlFragment {
  return sql`case
          when counter.address is distinct from ${address}::text or counter.address = '' then false
          when ${isKnownSql(user_id, address)} then false
          else exists (
            select from user_logins
            where user_logins.user_id = counter.account::uuid and user_logins.last_login_at is not null
          )
        end`;
}

/**
 * Renders whether a login without a user has a separate counter at an address (L20).
 * Users have a separate counter at each address from which they logged in. Logins without a user
 * imitate this, so that the counters do not reveal which users exist.
 * At an address where no user is known, no login has a separate counter. At other addresses, one
 * bit of a hash decides. Only the service can compute the hash, because `account` is keyed.
 * The hash covers the id of a user who is known at the address, not the address itself. Otherwise a
 * user could detect logins without a user by comparing many addresses of their own.
 */
export function seemsKnownSql(account: string, address: string): SqlFragment {
  return sql`coalesce((
            select get_byte(sha256(convert_to(${account}::text || known.account, 'UTF8')), 0) % 2 = 1
            from login_attempts known
            where known.address = ${address}::text and known.address <> '' and length(known.account) = 36
              and known.known_until > now()
            order by known.account
            limit 1
          ), false)`;
}
