import { Injectable } from '@nestjs/common';
import type { Scope } from '../../access/scope';
import { digestSql } from '../../http/lists/digest';
import type { Condition } from '../../http/lists/filter';
import { filterSql } from '../../http/lists/filter.sql';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import { recordedBetween } from '../../audit/events.sql';
import { storeBatchesSql } from '../operations/operations.sql';
import type { OperationTimes } from '../operations/operations.repository';
import { userFilterSql } from '../user-list.sql';
import { visibleUsers } from '../users.sql';

/** The users within a scope that match a filter. */
interface MatchingUsers {
  scope: Scope;
  conditions: Condition[];
}

/**
 * The users that an operation created or changed, and that none of its undos deleted or restored.
 */
interface UndoableUsers {
  undo_of: string;
  times: OperationTimes;
  undos: string[];
}

/** The users that a bulk change applies to. */
export type UserSource = MatchingUsers | UndoableUsers;

/** A set of users whose ids were read at one moment. */
export interface FixedSet {
  count: number;
  /** digest of the ids */
  digest: string;
  fixed_at: Date;
}

/** Fixes the users of bulk changes: later changes of users do not add users to an operation. */
@Injectable()
export class UsersBulkRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns the ids of users, at most `max`. Stops reading at `max`: the CTE `matching` is planned
   * for all rows, but runs only as far as it is read.
   * @param seed seed of the digest
   */
  async fix(source: UserSource, seed: string, max: number): Promise<FixedSet & { user_ids: string[] }> {
    const [row] = await this.database.run<FixedSet & { user_ids: string[] }>(sql`
      with
      matching as materialized (${sourceSql(source)}
      ),
      fixed as materialized (
        select user_id
        from matching
        limit ${max}::integer
      )
      select
        count(*)::integer as count,
        ${digestSql('user_id', seed)} as digest,
        now() as fixed_at,
        coalesce(array_agg(user_id), '{}') as user_ids
      from fixed`);
    return row as FixedSet & { user_ids: string[] };
  }

  /**
   * Stores all users as batches of an operation.
   * @param seed seed of the digest
   */
  async fixInBatches(source: UserSource, seed: string, operation_id: string): Promise<FixedSet> {
    const [row] = await this.database.run<FixedSet>(sql`
      with
      matching as materialized (${sourceSql(source)}
      ),
      stored as (${storeBatchesSql(operation_id, rawSql('matching'))}
      )
      select
        count(*)::integer as count,
        ${digestSql('user_id', seed)} as digest,
        now() as fixed_at
      from matching`);
    return row as FixedSet;
  }
}

/** Renders the query for the `user_id`s of a source. */
function sourceSql(source: UserSource): SqlFragment {
  return 'undo_of' in source ? undoableSql(source) : matchingSql(source);
}

function matchingSql({ scope, conditions }: MatchingUsers): SqlFragment {
  return sql`
        select users.user_id
        from users
        where users.deleted_at is null
          and ${visibleUsers(scope)}
          and ${filterSql(conditions, userFilterSql)}`;
}

function undoableSql({ undo_of, times, undos }: UndoableUsers): SqlFragment {
  return sql`
        select target_id as user_id
        from events
        where operation_id = ${undo_of}::uuid
          and event_type in ('user.created', 'user.changed', 'user.deleted')
          and ${recordedBetween(times.began_at, times.ended_at)}
        except
        select target_id
        from events
        where operation_id = any(${undos}::uuid[])
          and event_type in ('user.changed', 'user.deleted', 'user.restored')
          and ${recordedBetween(times.ended_at, null)}`;
}
