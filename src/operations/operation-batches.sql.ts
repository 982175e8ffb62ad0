import { rawSql, sql, type SqlFragment } from '../common/query/sql';

/**
 * Users per batch: few enough to release the locks soon, and many enough to make the overhead of a
 * transaction small.
 */
const batchSize = 5_000;

/**
 * Renders the INSERT that stores the users of an operation in batches, by id.
 * Use it as a data-modifying CTE of the statement that selects the users.
 * @param users FROM item with the column `user_id` uuid
 */
export function storeBatchesSql(operation_id: string, users: SqlFragment): SqlFragment {
  return sql`
      insert into operation_batches (operation_id, number, user_ids)
      select ${operation_id}::uuid, number, array_agg(user_id order by user_id)
      from (
        select user_id, (row_number() over (order by user_id) - 1) / ${batchSize}::integer as number
        from ${users}
      ) numbered
      group by number`;
}

/** Joins the actor of `operations`, for `ownerOfOperation`. */
export const joinOwner = rawSql(`left join keys on actor_type = 'key' and key_id = actor_id
        left join users on users.user_id = case actor_type when 'user' then actor_id else keys.created_by end`);

/**
 * Renders the carrier of `operations` joined with `joinOwner`. Without a carrier, renders the user,
 * or the creator of the API key.
 */
export const ownerOfOperation = rawSql(
  `coalesce(keys.carrier_id, users.carrier_id, keys.created_by::text, actor_id::text)`,
);

/** Renders the query for the `user_id`s of a batch. */
export function batchUsersSql(operation_id: string, number: number): SqlFragment {
  return sql`
        select unnest(user_ids) as user_id
        from operation_batches
        where operation_id = ${operation_id}::uuid
          and number = ${number}::integer`;
}

/**
 * Renders a query for a row if other operations must still process one of these users. The ids of a
 * batch are sorted, so the first and the last id rule out most batches.
 * @param mine query for `user_id`
 * @param others condition on `operations`
 */
export function overlapSql(mine: SqlFragment, others: SqlFragment): SqlFragment {
  return sql`
      with mine as materialized (${mine})
      select 1
      from operations
      join operation_batches using (operation_id)
      cross join unnest(user_ids) as their (user_id)
      where operations.finished_at is null
        and ${others}
        and user_ids[1] <= (select user_id from mine order by user_id desc limit 1)
        and user_ids[cardinality(user_ids)] >= (select user_id from mine order by user_id limit 1)
        -- IS TRUE prevents a join: PostgreSQL searches a hash instead. In a join it would compare
        -- each row with each other row, because the planner expects ten rows on both sides.
        and (their.user_id in (select user_id from mine)) is true
      limit 1`;
}
