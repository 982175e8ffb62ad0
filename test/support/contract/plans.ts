import { Client } from 'pg';
import { fillUsers } from '../../../bench/fill';
import { operatorsOf, parameterName } from '../../../src/http/lists/filter';
import type { Operator } from '../../../src/http/lists/filter-value';
import type { ListSpec } from '../../../src/http/lists/list-query';
import type { SqlFragment } from '../../../src/http/lists/sql';
import { dataSourceOptions } from '../../../src/platform/database/data-source';
import type { Database } from '../../../src/platform/database/database';
import { createTestDatabase, type TestDatabase } from '../test-database';

interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Relation Name'?: string;
  Plans?: PlanNode[];
}

/** A database with many generated users, and a connection with the settings of requests. */
export class FilledDatabase {
  private constructor(
    readonly client: Client,
    private readonly database: TestDatabase,
  ) {}

  static async create(users: number): Promise<FilledDatabase> {
    const database = await createTestDatabase();
    const { extra } = dataSourceOptions({ url: database.url, poolMax: 1, purpose: 'requests' }) as {
      extra: { options: string };
    };
    const client = new Client({ connectionString: database.url, options: extra.options });
    await client.connect();
    // A sample of 120,000 contains every row, so the statistics are the same in each run.
    await client.query('set default_statistics_target = 400');
    await fillUsers(client, users, '2026-11-20T12:00:00Z');
    return new FilledDatabase(client, database);
  }

  async drop(): Promise<void> {
    await this.client.end();
    await this.database.drop();
  }
}

/** Returns a query for each field and operator of a list. */
export function filterQueries(
  { filter }: Pick<ListSpec, 'filter'>,
  valueOf: (field: string, operator: Operator) => string,
): string[] {
  return Object.entries(filter.fields).flatMap(([field, spec]) =>
    operatorsOf(spec).map(
      (operator) => `${parameterName(field, operator)}=${encodeURIComponent(valueOf(field, operator))}`,
    ),
  );
}

/** Returns a query for each sort of a list in both directions. */
export function sortQueries({ sorts }: Pick<ListSpec, 'sorts'>): string[] {
  return Object.keys(sorts).flatMap((sort) =>
    ['asc', 'desc'].map((direction) => `order_by=${sort}&order_dir=${direction}`),
  );
}

/** Returns the plans of list requests and of their next pages, by query. */
export async function plansOfLists(
  queries: string[],
  list: (parameters: Record<string, string>, plans: string[]) => Promise<{ next_cursor: string | null }>,
): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {};
  for (const query of queries) {
    const plans: string[] = (all[query] = []);
    const parameters = Object.fromEntries(new URLSearchParams(query));
    const { next_cursor } = await list(parameters, plans);
    if (next_cursor !== null) await list({ ...parameters, count: 'none', cursor: next_cursor }, plans);
  }
  return all;
}

/** Returns the queries whose plans read a whole table, except for parameters in `except`. */
export function wholeTables(plans: Record<string, string[]>, table = '', except = /^$/): [string, string[]][] {
  return Object.entries(plans).filter(
    ([query, own]) => !except.test(query.split('=')[0] ?? '') && own.some((plan) => plan.includes(`whole ${table}`)),
  );
}

/** Returns the queries whose plans sort all rows. */
export function sorting(plans: Record<string, string[]>): [string, string[]][] {
  return Object.entries(plans).filter(([, own]) => own.some((plan) => /(^| )sort/.test(plan)));
}

/** Returns a database that adds the plan of each query to a list. */
export function explaining(client: Pick<Client, 'query'>, plans: string[] = []): Database {
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
  const find = async (fragment: SqlFragment) => (await run(fragment))[0] ?? null;
  const queries = { run, runPrepared: run, estimates: new Map<string, number>() };
  return { ...queries, find, findPrepared: find, answers: queries, reads: () => queries } as unknown as Database;
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
