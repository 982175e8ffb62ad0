import { Injectable } from '@nestjs/common';
import type { Scope } from '../access/scope';
import { visibleTo } from '../access/scope.sql';
import type { Condition } from '../http/lists/filter';
import { filterSql } from '../http/lists/filter.sql';
import type { ListQuery } from '../http/lists/list-query';
import type { Page, PageTotal } from '../http/lists/page';
import { joinSql, rawSql, sql, type SqlFragment } from '../http/lists/sql';
import { Database } from '../platform/database/database';
import { carrierList, type CarrierResponse } from './carriers.dto';

/** Maximum of an estimated count. Counting 10,000 carriers takes about 100 ms. */
const countedUpTo = 10_000;
/** Carriers have no table, so only their id is compared with the scope. */
const scopeColumns = { user_id: 'null::uuid', user_type: `'carrier'`, carrier_id: 'carriers.carrier_id' };
const filter = { spec: carrierList.filter, table: 'carriers' };

/** SQL of carriers. */
@Injectable()
export class CarriersRepository {
  constructor(private readonly database: Database) {}

  /** Returns one page of the carriers within a scope that have users and match a query. */
  async list(scope: Scope, query: ListQuery): Promise<Page<CarrierResponse>> {
    const { per_page, page, after, count } = query;
    const offset = page === undefined ? 0 : (page - 1) * per_page;
    const rows = await this.database.reads(scope).run<CarrierResponse>(sql`
      ${carriersSql(scope, query, after?.id)},
      page as (
        select carriers.carrier_id
        from carriers
        where ${matching(scope, query)}
        limit ${per_page + 1}
        offset ${offset}
      )
      select page.carrier_id, counts.users
      from page
      cross join lateral (
        select json_build_object(
          'total', count(*),
          'invited', count(*) filter (where users.status = 'invited'),
          'active', count(*) filter (where users.status = 'active'),
          'disabled', count(*) filter (where users.status = 'disabled')
        ) as users
        from users
        where users.carrier_id = page.carrier_id and users.deleted_at is null
      ) counts
      order by page.carrier_id ${directionOf(query)}`);
    const items = rows.slice(0, per_page);
    const last = items.at(-1)?.carrier_id;
    const next_cursor =
      rows.length > per_page && last !== undefined ? query.cursorAfter({ value: last, id: last }) : null;
    const isWhole = next_cursor === null && after === undefined && offset === 0;
    const total: PageTotal | null = isWhole ? { value: items.length, relation: 'eq' } : await this.count(scope, query);
    return { items, per_page, page, next_cursor, total: count === 'none' ? null : total };
  }

  private async count(scope: Scope, query: ListQuery): Promise<PageTotal | null> {
    if (query.count === 'none') return null;
    const max = query.count === 'exact' ? sql`` : sql`limit ${countedUpTo + 1}`;
    const [row] = await this.database.reads(scope).run<{ value: number }>(sql`
      ${carriersSql(scope, query)}
      select count(*)::integer as value
      from (
        select 1
        from carriers
        where ${matching(scope, query)}
        ${max}
      ) counted`);
    const value = row?.value ?? 0;
    return query.count === 'exact' || value <= countedUpTo
      ? { value, relation: 'eq' }
      : { value: countedUpTo, relation: 'approx' };
  }
}

/**
 * Renders the CTE `carriers`: the carriers that have users, in order.
 * Steps from one carrier to the next in an index, until the statement has enough rows. An ORDER BY
 * on the CTE would read all carriers.
 */
function carriersSql(scope: Scope, query: ListQuery, after?: string): SqlFragment {
  const direction = directionOf(query);
  const beyond = rawSql(query.descending ? '<' : '>');
  const begin = (column: string) =>
    after === undefined ? sql`${rawSql(column)} is not null` : sql`${rawSql(column)} ${beyond} ${after}::text`;
  const named = namedCarriers(scope, query.conditions);
  if (named !== null)
    return sql`with carriers as (
        select named.carrier_id
        from unnest(${named}::text[]) named (carrier_id)
        where ${begin('named.carrier_id')}
          and exists (
            select
            from users
            where users.carrier_id = named.carrier_id and users.deleted_at is null
          )
        order by named.carrier_id ${direction}
      )`;
  return sql`with recursive carriers as (
        (
          select users.carrier_id
          from users
          where users.deleted_at is null and ${begin('users.carrier_id')}
          order by users.carrier_id ${direction}
          limit 1
        )
        union all
        select (
          select users.carrier_id
          from users
          where users.deleted_at is null and users.carrier_id ${beyond} carriers.carrier_id
          order by users.carrier_id ${direction}
          limit 1
        )
        from carriers
        where carriers.carrier_id is not null
      )`;
}

/** Returns the ids of all carriers that may match, or null if every carrier may match. */
function namedCarriers({ user_type, carrier_id, carrier_scope }: Scope, conditions: Condition[]): string[] | null {
  if (user_type === 'carrier') return [carrier_id ?? ''];
  if (carrier_scope !== null) return [...new Set(carrier_scope)];
  const condition = conditions.find((one) => one.kind === 'field' && ['eq', 'in'].includes(one.operator));
  return condition === undefined ? null : [condition.value].flat().map(String);
}

function matching(scope: Scope, { conditions }: ListQuery): SqlFragment {
  const exists = sql`carriers.carrier_id is not null and ${visibleTo(scope, scopeColumns)}`;
  return conditions.length === 0 ? exists : joinSql([exists, filterSql(conditions, filter)], '\nand ');
}

function directionOf({ descending }: ListQuery): SqlFragment {
  return rawSql(descending ? 'desc' : 'asc');
}
