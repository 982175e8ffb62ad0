import { Injectable } from '@nestjs/common';
import { systemActor } from '../access/actor';
import type { Scope } from '../access/scope';
import { eventsFor, visibleEvents } from '../audit/audit-list.sql';
import { rawSql, sql, type SqlFragment } from '../http/lists/sql';
import { Database } from '../platform/database/database';
import type { Answered } from '../platform/times';
import type { AttackedUserResponse, AttackingNetworkResponse, AttacksResponse } from './attacks.dto';
import { visibleCounts } from './stats.repository';

/** A network as the database returns it: times are texts. */
export type AttackingNetwork = Answered<Omit<AttackingNetworkResponse, 'blocked_until'>>;

/** Number of rejected logins in the last hour, and the usual number. */
export type RefusalRate = Pick<AttacksResponse, 'refused_last_hour' | 'usual_for_the_hour'>;

/** Maximum number of rejected logins that a statement reads, the latest first. */
const eventsMax = 200_000;
/** Maximum number of networks and of users. */
const rowsMax = 100;
const network = rawSql('network(set_masklen(ip, case family(ip) when 4 then 24 else 64 end))');

/** The SQL of attacks. Reads rejected logins by the index on event type and time. */
@Injectable()
export class AttacksRepository {
  constructor(private readonly database: Database) {}

  /** Makes later results show the current blocks. Callers with the same scope share a result. */
  noteBlocks(): void {
    this.database.noteChange(systemActor);
  }

  /** Returns the networks with the most rejected logins. Only an unlimited scope shows blocks. */
  listNetworks(scope: Scope): Promise<(AttackingNetwork & { blocked_until: string | null })[]> {
    const seesBlocks = scope.user_type === 'system' && scope.carrier_scope === null;
    return this.database.reads(systemActor).run<AttackingNetwork & { blocked_until: string | null }>(sql`
      select
        attacks.network::text as network, refused, logins_tried, first_at, last_at,
        (
          select max(expires_at)
          from address_blocks
          where ${seesBlocks}::boolean and address_blocks.network >>= attacks.network and expires_at > now()
        ) as blocked_until
      from (
        select
          network,
          sum(refused)::integer as refused,
          count(*)::integer as logins_tried,
          min(first_at) as first_at,
          max(last_at) as last_at
        from (
          select
            ${network} as network,
            coalesce(target_id::text, changes #>> '{login,after}') as login,
            count(*) as refused,
            min(occurred_at) as first_at,
            max(occurred_at) as last_at
          from ${latestRefused(scope, '24 hours')}
          where ip is not null
          group by 1, 2
        ) logins
        group by network
        order by refused desc, last_at desc
        limit ${rowsMax}::integer
      ) attacks
      order by refused desc, last_at desc`);
  }

  /** Returns the users with the most rejected logins, without deleted users. */
  listUsers(scope: Scope): Promise<Answered<AttackedUserResponse>[]> {
    return this.database.reads(systemActor).run<Answered<AttackedUserResponse>>(sql`
      select users.user_id, users.name, refused, networks, last_at
      from (
        select
          user_id,
          sum(refused)::integer as refused,
          count(network)::integer as networks,
          max(last_at) as last_at
        from (
          select
            target_id as user_id,
            ${network} as network,
            count(*) as refused,
            max(occurred_at) as last_at
          from ${latestRefused(scope, '24 hours')}
          where target_id is not null
          group by 1, 2
        ) networks
        group by user_id
        order by refused desc, last_at desc
        limit ${rowsMax}::integer
      ) attacked
      join users on users.user_id = attacked.user_id and users.deleted_at is null
      order by refused desc, last_at desc`);
  }

  /** Counts the rejected logins of the last hour, and of the same hour on the last 7 days. */
  async findRate(scope: Scope): Promise<RefusalRate> {
    const [row] = await this.database.reads(systemActor).run<RefusalRate>(sql`
      select
        (
          select count(*)::integer
          from ${latestRefused(scope, '1 hour')}
        ) as refused_last_hour,
        percentile_disc(0.5) within group (order by days.refused) as usual_for_the_hour
      from (
        select coalesce(sum(login_counts.failed), 0)::integer as refused
        from generate_series(1, 7) day
        left join login_counts
          on login_counts.hour = date_trunc('hour', now() - interval '30 minutes', 'UTC') - day * interval '24 hours'
          and ${visibleCounts(scope, `'carrier'`)}
        group by day
      ) days`);
    return row ?? { refused_last_hour: 0, usual_for_the_hour: 0 };
  }
}

/** Renders a source of the latest rejected logins of a scope. */
function latestRefused(scope: Scope, age: '1 hour' | '24 hours'): SqlFragment {
  return sql`(
            select events.occurred_at, events.target_id, events.ip, events.changes
            from ${eventsFor(scope)}
            where events.event_type = 'login.failed'
              and events.occurred_at > now() - interval ${rawSql(`'${age}'`)}
              and ${visibleEvents(scope)}
            order by events.occurred_at desc
            limit ${eventsMax}::integer
          ) refused`;
}
