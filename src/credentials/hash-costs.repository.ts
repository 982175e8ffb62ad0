import { Injectable } from '@nestjs/common';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import type { HashCost } from './stored-hash';

/** Matches hashes of other systems. Must equal the predicate of credentials_foreign_idx. */
const foreign = rawSql(`password_hash not like '$argon2id$v=19$m=19456,t=2,p=1$%'
            and password_hash not like '$md5$argon2id$v=19$m=19456,t=2,p=1$%'`);
const lengthOfPart = (part: number) => rawSql(`length(split_part(password_hash, '$', ${part}))`);
/**
 * Parameters of a hash and the length of its digest, which decides how many blocks PBKDF2 computes.
 */
const shape = sql`case
              when password_hash like '$2%' then left(password_hash, 7)
              else left(password_hash, -1 - ${lengthOfPart(-2)} - ${lengthOfPart(-1)}) || ${lengthOfPart(-1)}
            end`;
/** Limits the memory of a recount if every imported hash has different parameters. */
const shapesMax = 1_000;

/** The SQL of the costs of hashes. */
@Injectable()
export class HashCostsRepository {
  constructor(private readonly database: Database) {}

  /** Lists the costs that a rejected login is padded to. */
  list(): Promise<HashCost[]> {
    return this.database.runPrepared<HashCost>(sql`
      select computation, cost
      from password_hash_costs
      order by computation`);
  }

  /**
   * Raises costs. A lower cost changes nothing.
   * Locks the rows in a fixed order, so that two transactions cannot deadlock.
   */
  async raise(costs: HashCost[]): Promise<void> {
    await this.database.run(sql`
      insert into password_hash_costs as known (computation, cost)
      select computation, cost
      from ${relationOf(costs)}
      order by computation
      on conflict (computation) do update set cost = excluded.cost where excluded.cost > known.cost`);
  }

  /**
   * Replaces all costs. Does not write unchanged costs, so that the trigger does not fire for them.
   */
  async replace(costs: HashCost[]): Promise<void> {
    await this.database.run(sql`
      delete from password_hash_costs
      where computation <> all (array(select computation from ${relationOf(costs)}))`);
    await this.database.run(sql`
      insert into password_hash_costs as known (computation, cost)
      select computation, cost
      from ${relationOf(costs)}
      on conflict (computation) do update set cost = excluded.cost where excluded.cost <> known.cost`);
  }

  /** Locks the costs against writers. Waits for open transactions that have raised costs. */
  async lock(): Promise<void> {
    await this.database.run(sql`lock table password_hash_costs in share row exclusive mode`);
  }

  /** Lists one stored hash of another system for each parameter set and digest length. */
  async listForeign(): Promise<string[]> {
    const rows = await this.database.run<{ password_hash: string }>(sql`
      select password_hash
      from (
        select
          password_hash,
          row_number() over (
            partition by split_part(shape, '$', 2) order by length(shape) desc, shape desc
          ) as place
        from (
          select
            ${shape} as shape,
            min(password_hash collate "C") as password_hash
          from credentials
          where ${foreign}
          group by 1
        ) shapes
      ) ranked
      where place <= ${shapesMax}::integer`);
    return rows.map(({ password_hash }) => password_hash);
  }
}

function relationOf(costs: HashCost[]): SqlFragment {
  const rows = JSON.stringify(costs);
  return sql`jsonb_to_recordset(${rows}::jsonb) as counted (computation text, cost integer)`;
}
