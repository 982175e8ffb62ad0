import { Inject, Injectable } from '@nestjs/common';
import type { FactorKind } from '../../access/actor';
import type { Scope } from '../../access/scope';
import { visibleTo } from '../../access/scope.sql';
import { listedEvents } from '../../audit/audit-list.sql';
import { sql } from '../../http/lists/sql';
import { CONFIG, type Config } from '../../platform/config/config';
import { Database } from '../../platform/database/database';
import { mustEnrollSql } from '../../users/user-list.sql';
import { visibleUsers } from '../../users/users.sql';
import { hasExpired, isOutside } from '../login/logins.repository';
import type { invitationStates } from './login-check.dto';
import { linkState } from '../passwords/link-state.sql';

/** The state of a user that decides about a login. */
export interface CheckedUser {
  status: 'invited' | 'active' | 'disabled';
  deleted_at: Date | null;
  second_factors: FactorKind[];
  allowed_ips: string[];
  must_change_password: boolean;
  must_enroll_second_factor: boolean;
  last_login_at: Date | null;
  /** `none`: the user never had a password */
  password: 'none' | 'voided' | 'expired' | 'valid';
  password_expires_at: Date | null;
  invitation: (typeof invitationStates)[number];
  invited_at: Date | null;
  invitation_expires_at: Date | null;
}

/** Kind of an event about the login of a user. */
type EventKind = 'deleted' | 'disabled' | 'secured' | 'locked' | 'refused';

/** An event about the login of a user. */
export interface LoginEvent {
  kind: EventKind;
  event_type: string;
  occurred_at: Date;
  actor_type: 'user' | 'key' | 'system';
  actor_id: string | null;
  /** name of the actor, if it is within the scope of the caller */
  actor_name: string | null;
  operation_id: string | null;
  ip: string | null;
  /** why a login was rejected */
  reason: string | null;
  /** whether the address is outside the current `allowed_ips` of the user */
  outside: boolean;
}

/** The block of an address of a user. */
export interface BlockedAddress {
  address_block_id: string;
  network: string;
  created_at: Date;
  expires_at: Date;
  /** address, or network of an IPv6 address */
  ip: string;
  /** false if the user logged in from another address within 30 days */
  blocks: boolean;
}

/** Number of events of each kind. */
const eventsMax = 10;
/** Number of the newest events of the user that are searched. */
const searchedMax = 1_000;

/** The SQL of login checks. */
@Injectable()
export class LoginCheckRepository {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Returns a user within a scope, or null. @param deleted whether to find deleted users */
  find(user_id: string, scope: Scope, deleted: boolean): Promise<CheckedUser | null> {
    return this.database.find<CheckedUser>(sql`
      select
        users.status,
        users.deleted_at,
        users.second_factors,
        users.allowed_ips,
        users.must_change_password,
        ${mustEnrollSql} as must_enroll_second_factor,
        user_logins.last_login_at,
        case
          when credentials.user_id is null then 'none'
          when credentials.password_hash is null then 'voided'
          when ${hasExpired} then 'expired'
          else 'valid'
        end as password,
        credentials.expires_at as password_expires_at,
        ${linkState} as invitation,
        link.requested_at as invited_at,
        link.expires_at as invitation_expires_at
      from users
      join user_logins on user_logins.user_id = users.user_id
      left join credentials on credentials.user_id = users.user_id
      left join one_time_tokens link on link.user_id = users.user_id and link.purpose = 'invite'
      where users.user_id = ${user_id}::uuid
        and (users.deleted_at is null or ${deleted}::boolean)
        and ${visibleUsers(scope)}`);
  }

  /**
   * Lists the newest events of each kind, newest first.
   * @param scope actors outside it have no names
   */
  listEvents(user_id: string, scope: Scope): Promise<LoginEvent[]> {
    const user = { user_id: 'acting.user_id', user_type: 'acting.user_type', carrier_id: 'acting.carrier_id' };
    return this.database.run<LoginEvent>(sql`
      with newest as (
        select *
        from events
        where target_id = ${user_id}::uuid
          and target_type in ('user', 'login')
          and ${listedEvents(this.config.AUDIT_DAYS)}
        order by occurred_at desc, event_id desc
        limit ${searchedMax}::integer
      ),
      found as (
        select
          *,
          case
            when event_type = 'user.deleted' then 'deleted'
            when changes -> 'status' ->> 'after' = 'disabled' then 'disabled'
            when event_type = 'user.secured' then 'secured'
            when event_type = 'login.locked' then 'locked'
            when event_type in ('login.failed', 'login.second_factor_failed') then 'refused'
          end as kind
        from newest
      ),
      ranked as (
        select *, row_number() over (partition by kind order by occurred_at desc, event_id desc) as rank
        from found
        where kind is not null
      )
      select
        ranked.kind,
        ranked.event_type,
        ranked.occurred_at,
        ranked.actor_type,
        ranked.actor_id,
        case ranked.actor_type
          when 'user' then (
            select acting.name
            from users acting
            where acting.user_id = ranked.actor_id and ${visibleTo(scope, user)}
          )
          when 'key' then (
            select acting.name
            from keys acting
            where acting.key_id = ranked.actor_id and ${visibleTo(scope, { ...user, user_id: 'acting.created_by' })}
          )
        end as actor_name,
        ranked.operation_id,
        host(ranked.ip) as ip,
        ranked.changes -> 'reason' ->> 'after' as reason,
        ${isOutside(sql`ranked.ip`)} as outside
      from ranked
      join users on users.user_id = ${user_id}::uuid
      where ranked.rank <= ${eventsMax}::integer
      order by ranked.occurred_at desc, ranked.event_id desc`);
  }

  /**
   * Returns the block that ends last of an address from which the user logged in within 30 days, or
   * of another address, or null.
   * @param ip address of the last rejected login
   */
  findBlock(user_id: string, ip: string | null): Promise<BlockedAddress | null> {
    return this.database.find<BlockedAddress>(sql`
      with addresses as (
        select address::inet as ip, true as known
        from login_attempts
        where account = ${user_id}::text and address <> '' and known_until > now()
        union all
        select ${ip}::inet, false
      )
      select
        address_blocks.address_block_id,
        address_blocks.network::text as network,
        address_blocks.created_at,
        address_blocks.expires_at,
        host(addresses.ip) as ip,
        addresses.known or not exists (select from addresses where known) as blocks
      from addresses
      join address_blocks on address_blocks.network >>= addresses.ip and address_blocks.expires_at > now()
      order by addresses.known desc, address_blocks.expires_at desc
      limit 1`);
  }
}
