import { Inject, Injectable } from '@nestjs/common';
import type { Scope } from '../../access/scope';
import { visibleTo } from '../../access/scope.sql';
import type { CursorPosition } from '../../http/lists/cursor';
import type { Condition } from '../../http/lists/filter';
import { filterSql, type FilterSql } from '../../http/lists/filter.sql';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { CONFIG, type Config } from '../../platform/config/config';
import { Database } from '../../platform/database/database';
import type { Reads } from '../../platform/database/reads';
import { hasId } from '../audit-list.sql';
import { nilId, type Place } from './change-cursors';
import { changeFilter } from './change-query';
import { isChange } from './changes.sql';
import type { ChangeRecord } from './changes.dto';

/** The end of the feed at one moment. */
export interface FeedEnd {
  /** place after all changes of finished transactions */
  place: Place;
  /** age in seconds of the oldest change that an open transaction holds back; 0 = none */
  held_seconds: number;
}

/** Part of the feed to read. */
export interface FeedPart {
  after: Place;
  /** the last place that may be read */
  until: Place;
  limit: number;
}

/** Number of changes that a filtered page looks through. */
const scanMax = 10_000;
const filter: FilterSql = { spec: changeFilter, table: 'events', fields: { type: { column: 'events.event_type' } } };

const columns = rawSql(`
      event_id as change_id,
      tx::text,
      event_type as type,
      occurred_at,
      target_type,
      coalesce(target_id::text, changes -> 'name' ->> 'after', changes -> 'name' ->> 'before') as target_id,
      carrier_id,
      coalesce(target_version, case event_type when 'user.created' then 1 end) as version,
      array(
        select field
        from jsonb_object_keys(changes) field
        where field <> 'name' or event_type not in ('role.changed', 'key.revoked', 'key.resumed', 'key.rotated')
      ) as fields`);

/**
 * The SQL of the change feed.
 * Transactions get ascending ids at their first write, and commit in any order. A reader sees only
 * changes below the oldest running transaction, so that none appears behind a place that was read.
 */
@Injectable()
export class ChangesRepository {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Returns the server for a copy. @see Database.reads */
  reads(reader: Scope | null, after?: CursorPosition): Reads {
    return this.database.reads(reader, after);
  }

  /** Returns the end of the feed. Later statements see all changes before it. */
  async findEnd(): Promise<FeedEnd> {
    const [end] = await this.database.runPrepared<{ tx: string; at: Date; held_seconds: number }>(sql`
      select
        feed_horizon()::text as tx,
        now()::timestamptz(3) as at,
        coalesce((
          select greatest(0, extract(epoch from now() - min(held.occurred_at)))
          from (
            select occurred_at
            from events
            where ${isChange} and tx >= (select feed_horizon())
            order by tx, event_id
            limit (select 1000)
          ) held
        ), 0)::float8 as held_seconds`);
    if (end === undefined) throw new Error('no end of the feed');
    return { place: { tx: end.tx, event_id: nilId, at: end.at }, held_seconds: end.held_seconds };
  }

  /**
   * Returns the place before the oldest changes that are shown, or `end` if there are none. Begins
   * an hour after the oldest valid cursors, so that the next cursor is valid. The first transaction
   * of that hour is not always the one that began first.
   * @param since earliest time of the changes; null = the oldest that are shown
   */
  async findStart(end: Place, since: Date | null): Promise<Place> {
    const isShown = sql`${isChange} and tx < ${end.tx}::xid8`;
    const [first] = await this.database.run<{ tx: string; at: Date }>(sql`
      with first as (
        select occurred_at as at
        from events
        where ${isShown}
          and occurred_at > now() - make_interval(hours => 24 * ${this.config.CHANGE_DAYS}::integer - 1)
          and occurred_at >= coalesce(${since}::timestamptz, '-infinity')
        order by occurred_at, event_id
        limit 1
      )
      select
        (
          select min(tx)
          from events
          where ${isShown}
            and occurred_at between first.at and first.at + interval '1 hour'
        )::text as tx,
        first.at
      from first`);
    return first === undefined ? end : { ...first, event_id: nilId };
  }

  /** Returns the place after 10,000 changes, where a filtered page must stop. */
  async findStop({ after, until }: Pick<FeedPart, 'after' | 'until'>): Promise<Place | null> {
    const [stop] = await this.database.run<Place>(sql`
      select tx::text, event_id, occurred_at as at
      from events
      where ${isChange} and ${between(after, until)}
      order by events.tx, events.event_id
      limit 1 offset (select ${scanMax - 1}::integer)`);
    return stop ?? null;
  }

  /** Returns the next changes that a scope shows and conditions match. */
  list(scope: Scope, conditions: Condition[], { after, until, limit }: FeedPart): Promise<ChangeRecord[]> {
    return this.database.answers.run<ChangeRecord>(sql`
      select ${columns}
      from events
      where ${isChange}
        and ${between(after, until)}
        and (target_id is not null or target_type = 'role')
        and ${visibleChanges(scope)}
        and ${filterSql(conditions, filter)}
      order by events.tx, events.event_id
      limit (select ${limit}::integer)`);
  }

  /** Returns a change that a scope shows, or null. */
  async find(scope: Scope, change_id: string): Promise<ChangeRecord | null> {
    const [change] = await this.database.answers.run<ChangeRecord>(sql`
      select ${columns}
      from events
      where ${isChange}
        and ${hasId(change_id)}
        and (target_id is not null or target_type = 'role')
        and ${visibleChanges(scope)}`);
    return change ?? null;
  }
}

/**
 * Renders whether a change is between two places. Subqueries hide the values and the limit from the
 * planner: it would expect few changes of the last transactions, and sort all that there are. With
 * a million changes of one transaction, a page took 370 ms instead of 1 ms.
 */
function between(after: Place, until: Place): SqlFragment {
  return sql`(events.tx, events.event_id) > ((select ${after.tx}::xid8), (select ${after.event_id}::uuid))
        and (events.tx, events.event_id) <= ((select ${until.tx}::xid8), (select ${until.event_id}::uuid))`;
}

/**
 * Renders which changes a scope shows: those of users within the scope and their sessions. A
 * limited scope shows no roles and keys (C1).
 */
function visibleChanges(scope: Scope): SqlFragment {
  if (scope.user_type === 'system' && scope.carrier_scope === null) return sql`true`;
  const columns = {
    user_id: 'events.target_id',
    user_type: `'carrier'`,
    carrier_id: 'events.carrier_id',
    own_if: 'false',
  };
  return sql`(events.target_type in ('user', 'session') and ${visibleTo(scope, columns)})`;
}
