import { sql, type SqlFragment } from '../common/query/sql';

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
