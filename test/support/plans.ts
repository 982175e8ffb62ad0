import type { Client } from 'pg';
import type { SqlFragment } from '../../src/http/lists/sql';
import type { Database } from '../../src/platform/database/database';

interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Relation Name'?: string;
  Plans?: PlanNode[];
}

/** Returns a database that adds the plan of each query to a list. */
export function explaining(client: Client, plans: string[]): Database {
  const run = async (fragment: SqlFragment) => {
    const { text, values } = fragment.toQuery();
    if (!text.trimStart().startsWith('explain')) {
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (format json, costs off) ${text}`,
        values,
      );
      plans.push(
        (rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN']
          .map(({ Plan }) => shapeOf(Plan))
          .join()
          // The joins of the columns cost the same in both orders.
          .replace('user_seen_pkey user_logins_pkey', 'user_logins_pkey user_seen_pkey'),
      );
    }
    return (await client.query(text, values)).rows as object[];
  };
  const queries = { run, runPrepared: run, estimates: new Map<string, number>() };
  return { ...queries, answers: queries } as unknown as Database;
}

/** Keeps index and sort steps. Joins and recheck steps differ between versions of PostgreSQL. */
function shapeOf(node: PlanNode): string {
  const below = (node.Plans ?? []).map(shapeOf).filter((shape) => shape !== '');
  // The order of equally selective indexes depends on sampled statistics.
  if (node['Node Type'] === 'BitmapAnd') below.sort();
  const { 'Node Type': type, 'Index Name': index, 'Relation Name': relation } = node;
  // Any index of a table can return all ids; the choice depends on page counts.
  if (type === 'Index Only Scan' && relation === 'users' && node['Index Cond'] === undefined) return 'ids of users';
  const own =
    relation === 'roles' || index === 'roles_pkey'
      ? // There are few roles: reading all of them costs the same as an index.
        ''
      : type === 'Seq Scan'
        ? `whole ${relation}`
        : type === 'Sort'
          ? 'sort'
          : type === 'Incremental Sort'
            ? 'ties'
            : (index ?? '');
  return [own, ...below].filter((shape) => shape !== '').join(' ');
}
