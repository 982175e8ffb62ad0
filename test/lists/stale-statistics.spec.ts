import { systemActor } from '../../src/access/actor';
import { rawSql, sql, type SqlFragment } from '../../src/http/lists/sql';
import { eventBase } from '../../src/audit/event-base';
import type { UserAction } from '../../src/users/changes/user-change';
import { beforeOperationJoins } from '../../src/users/user-assignments.sql';
import { applyActionSql } from '../../src/users/changes/user-changes.sql';
import { isTaken } from '../../src/users/users.sql';
import { addManyUsers } from '../support/many-users';
import { useDatabase } from '../support/test-database';

/** A node of an executed plan. */
interface PlanNode {
  Alias?: string;
  'Relation Name'?: string;
  'Actual Loops': number;
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}
const [many, back] = [3_000, 2_000];

/**
 * The statistics were collected while all users were deleted, and most users were restored since.
 */
describe('plans on statistics from before most users were restored', () => {
  const database = useDatabase();
  beforeAll(async () => {
    const rows = async <Row>(text: string, values?: unknown[]) => (await database.query(text, values)).rows as Row[];
    await addManyUsers({ rows }, many, 'many');
    await database.query('update users set deleted_at = now()');
    await database.query('vacuum analyze users');
    await database.query(`update users set deleted_at = null where (attributes ->> 'number')::integer <= ${back}`);
  });

  const ask = async (fragment: SqlFragment, explain = '') => {
    const { text, values } = fragment.toQuery();
    return (await database.query<Record<string, unknown>>(explain + text, values)).rows;
  };
  /** Returns the number of rows that a plan read from a table or its alias. */
  const readOf = (node: PlanNode, name: string): number => {
    const own = [node.Alias, node['Relation Name']].includes(name)
      ? node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0))
      : 0;
    return own + (node.Plans ?? []).reduce((sum, below) => sum + readOf(below, name), 0);
  };
  const readFor = async (fragment: SqlFragment, name: string) => {
    const [row] = await ask(fragment, 'explain (analyze, format json) ');
    return (row?.['QUERY PLAN'] as { Plan: PlanNode }[]).reduce((sum, { Plan }) => sum + readOf(Plan, name), 0);
  };

  it.each(['name', 'email'] as const)('looks up each %s individually', async (column) => {
    const taken = isTaken(column, rawSql('row.value'));
    const query = sql`select count(*)::integer as asked, count(*) filter (where ${taken})::integer as taken
      from unnest(array(select upper(${rawSql(column)}) from users)) as row (value)`;
    expect(await ask(query)).toEqual([{ asked: many, taken: back }]);
    // The plan contains rounded averages.
    expect(await readFor(query, 'other')).toBeLessThan(2 * back);
  });

  const someIds = async () => {
    const { rows } = await database.query<{ user_id: string }>(
      `select user_id from users where (attributes ->> 'number')::integer % 100 = 1`,
    );
    return rows.map(({ user_id }) => user_id);
  };

  const actions: UserAction[] = [
    { kind: 'change', change: { timezone: 'Europe/Vienna' } },
    { kind: 'change', change: { roles: [] } },
    { kind: 'delete' },
  ];
  it.each(actions)('looks up the users of $kind $change by their ids', async (action) => {
    const ids = await someIds();
    const grants = { forbidden: [], open_to_system: [], open_to_carrier: [] };
    const event = eventBase(systemActor, 'user.changed');
    const query = applyActionSql(systemActor, { action, grants }, ids, event);
    await database.query('begin');
    expect(await readFor(query, 'users')).toBeLessThan(4 * ids.length);
    await database.query('rollback');
    await database.query('begin');
    const [applied] = await ask(query);
    expect(applied?.['changed_ids']).toHaveLength(back / 100);
    await database.query('rollback');
  });

  it('looks up the values of an undo by the users of its batch', async () => {
    const add = (operation_id: string, limit: number) =>
      database.query(
        `insert into events (event_type, actor_type, target_type, target_id, target_version, operation_id, changes)
        select 'user.changed', 'system', 'user', user_id, 1, $1, '{"locale": {"before": "fr"}}' from users limit $2`,
        [operation_id, limit],
      );
    for (const other of ['1', '2', '3']) await add(`018f0000-0000-7000-8000-00000000000${other}`, many);
    await database.query('analyze events');
    const ids = await someIds();
    const unknown = '018f0000-0000-7000-8000-000000000004';
    await add(unknown, many);
    const times = { began_at: new Date(), ended_at: new Date() };
    const undo = { kind: 'undo' as const, operation_id: unknown, times, restores: false };
    const query = sql`select restored.locale from users ${beforeOperationJoins(undo)}
      where users.user_id = any(${ids}::uuid[])`;
    expect(await ask(query)).toEqual(Array<object>(many / 100).fill({ locale: 'fr' }));
    expect(await readFor(query, 'events')).toBeLessThan(many / 50);
  });
});
