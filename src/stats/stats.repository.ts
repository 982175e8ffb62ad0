import { Injectable } from '@nestjs/common';
import type { Scope } from '../access/scope';
import { visibleTo } from '../access/scope.sql';
import { activeKey, visibleKeys } from '../access/api-keys/api-key-list.sql';
import { sql, type SqlFragment } from '../http/lists/sql';
import type { Answered } from '../platform/times';
import { advisoryLocks } from '../platform/advisory-locks';
import { Database } from '../platform/database/database';
import type { Reader } from '../platform/database/reads';
import { type OperationReader, visibleOperations } from '../users/operations/operations.sql';
import { liveSession } from '../auth/sessions/session-list.sql';
import { mailListSql } from '../users/mails/mail-list.sql';
import { mustEnrollSql } from '../users/user-list.sql';
import { visibleWebhooks } from '../webhooks/webhook-list.sql';
import type { LoginCountEntity, OverviewCountEntity } from './overview-count.entity';
import type { OverviewResponse } from './stats.dto';

/** A sum over the carriers of a scope. */
export type OverviewCount = Pick<OverviewCountEntity, 'user_type' | 'kind' | 'count'>;

/** The logins of an hour, summed over the carriers of a scope. */
export type LoginCount = Answered<Pick<LoginCountEntity, 'hour' | 'succeeded' | 'failed'>>;

/** Time of the last refresh of the counts, and its age. */
export type CountAge = Answered<Pick<OverviewResponse, 'as_of' | 'age_seconds'>>;

/** The SQL of the overview. */
@Injectable()
export class StatsRepository {
  constructor(private readonly database: Database) {}

  /** Waits until no other transaction refreshes the counts. */
  async lock(): Promise<void> {
    await this.database.run(sql`select pg_advisory_xact_lock(${advisoryLocks.overview}::bigint)`);
  }

  /** Returns whether a refresh is due: another instance may have counted while this one waited. */
  async isDue(): Promise<boolean> {
    const [row] = await this.database.run<{ is_due: boolean }>(sql`
      select due_at <= now() as is_due
      from overview_refreshes`);
    return row?.is_due ?? true;
  }

  /**
   * Returns the time of the last refresh and its age, or null before the first one.
   * @param reader null = from the primary, for the newest state
   */
  async findAge(reader: Reader | null): Promise<CountAge | null> {
    const [row] = await this.database.reads(reader).runPrepared<CountAge>(sql`
      select
        as_of,
        greatest(0, floor(extract(epoch from now() - as_of)))::integer as age_seconds
      from overview_refreshes`);
    return row ?? null;
  }

  /**
   * Counts users, live sessions and failing mails by carrier. Reads all users: an index would cost
   * each bulk change more than this one read per minute. Writes only the counts that changed.
   */
  async refreshCounts(): Promise<void> {
    await this.database.run(sql`
      with
      users_by_status as (
        select
          carrier_id,
          user_type,
          status,
          count(*) as users,
          count(*) filter (where locked_until > now()) as locked,
          count(*) filter (where status = 'active' and ${mustEnrollSql}) as must_enroll
        from users
        where deleted_at is null
        group by carrier_id, user_type, status
      ),
      parts as (
        select carrier_id, user_type, part.kind, part.count
        from users_by_status
        cross join lateral (
          values (status, users), ('locked', locked), ('must_enroll', must_enroll)
        ) as part (kind, count)
        union all
        select carrier_id, user_type, 'sessions', count(*)
        from sessions
        where ${liveSession}
        group by carrier_id, user_type
        union all
        select carrier_id, user_type, case state when 'failed' then 'mails_failed' else 'mails_failing' end, count(*)
        from ${mailListSql.from}
        where state = 'failed' or failing
        group by 1, 2, 3
      ),
      counted as (
        select coalesce(carrier_id, '') as carrier_id, user_type, kind, sum(count)::integer as count
        from parts
        where count > 0
        group by 1, 2, 3
      ),
      removed as (
        delete from overview_counts
        where not exists (
          select
          from counted
          where counted.carrier_id = overview_counts.carrier_id
            and counted.user_type = overview_counts.user_type
            and counted.kind = overview_counts.kind
        )
      )
      insert into overview_counts (carrier_id, user_type, kind, count)
      select carrier_id, user_type, kind, count
      from counted
      on conflict (carrier_id, user_type, kind) do update set count = excluded.count
      where overview_counts.count <> excluded.count`);
  }

  /**
   * Counts the logins of the hours that may have changed since the last refresh, and removes hours
   * that are older than 8 days. Counts each hour as a whole, so that a repeated refresh counts no
   * login twice. An hour is counted for five more minutes, because an event is visible only after
   * its commit.
   */
  async refreshLogins(): Promise<void> {
    await this.database.run(sql`
      with
      changed as (
        select greatest(
          date_trunc('hour', (select as_of from overview_refreshes) - interval '5 minutes', 'UTC'),
          date_trunc('hour', now(), 'UTC') - interval '23 hours'
        ) as since
      ),
      removed as (
        delete from login_counts
        where hour < now() - interval '193 hours'
      )
      insert into login_counts (hour, carrier_id, succeeded, failed)
      select
        date_trunc('hour', occurred_at, 'UTC'),
        coalesce(carrier_id, ''),
        count(*) filter (where event_type = 'login.succeeded'),
        count(*) filter (where event_type = 'login.failed')
      from events
      where event_type in ('login.succeeded', 'login.failed')
        and occurred_at >= (select since from changed)
      group by 1, 2
      on conflict (hour, carrier_id) do update set succeeded = excluded.succeeded, failed = excluded.failed
      where (login_counts.succeeded, login_counts.failed) <> (excluded.succeeded, excluded.failed)`);
  }

  /**
   * Persists the start of the transaction as the time of the refresh. The next refresh is due after
   * a hundred times the duration of this one, so that counting takes at most 1% of the time.
   */
  async noteRefresh(): Promise<void> {
    await this.database.run(sql`
      insert into overview_refreshes (as_of, due_at)
      values (now(), now() + 100 * (clock_timestamp() - now()))
      on conflict (only_row) do update set as_of = excluded.as_of, due_at = excluded.due_at`);
  }

  async listCounts(scope: Scope): Promise<OverviewCount[]> {
    return this.database.reads(scope).run<OverviewCount>(sql`
      select user_type, kind, sum(count)::integer as count
      from overview_counts
      where ${visibleCounts(scope, 'user_type')}
      group by user_type, kind`);
  }

  /** Returns the logins of a scope for each of the last 24 hours, the oldest first. */
  async listLogins(scope: Scope): Promise<LoginCount[]> {
    return this.database.reads(scope).run<LoginCount>(sql`
      select
        hours.hour,
        coalesce(sum(succeeded), 0)::integer as succeeded,
        coalesce(sum(failed), 0)::integer as failed
      from generate_series(
        date_trunc('hour', now(), 'UTC') - interval '23 hours',
        now(),
        interval '1 hour'
      ) as hours (hour)
      left join login_counts on login_counts.hour = hours.hour
        and ${visibleCounts(scope, `'carrier'`)}
      group by hours.hour
      order by hours.hour`);
  }

  /** Counts the operations that a reader sees and that have not ended, also those that wait. */
  async countRunning(reader: OperationReader): Promise<number> {
    const [row] = await this.database.reads(reader.scope).run<{ count: number }>(sql`
      select count(*)::integer as count
      from operations
      where finished_at is null
        and ${visibleOperations(reader)}`);
    return row?.count ?? 0;
  }

  /** Counts the active API keys of a scope that expire within some days, and returns that time. */
  async countExpiringKeys(scope: Scope, days: number): Promise<{ count: number; until: string }> {
    const [row] = await this.database.reads(scope).run<{ count: number; until: string }>(sql`
      select
        count(keys.key_id)::integer as count,
        times.until
      from (select (now() + make_interval(days => ${days}::integer))::timestamptz(3) as until) times
      left join keys on ${activeKey} and keys.expires_at <= times.until
        and ${visibleKeys(scope)}
      group by times.until`);
    return row ?? { count: 0, until: '' };
  }

  /** Counts the webhooks of a scope that fail, and those that the service disabled. */
  async countWebhooks(scope: Scope): Promise<{ disabled: number; failing: number }> {
    const [row] = await this.database.reads(scope).run<{ disabled: number; failing: number }>(sql`
      select
        count(*) filter (where disabled_reason <> 'requested')::integer as disabled,
        count(*) filter (where state = 'failing')::integer as failing
      from webhooks
      where ${visibleWebhooks(scope)}`);
    return row ?? { disabled: 0, failing: 0 };
  }
}

/**
 * Renders whether a scope includes the counts of a carrier. Counts contain no user ids: for a
 * System User with a carrier scope, they do not include the user's own record.
 */
export function visibleCounts(scope: Scope, user_type: string): SqlFragment {
  return visibleTo(scope, { user_id: 'null::uuid', user_type, carrier_id: 'carrier_id' });
}
