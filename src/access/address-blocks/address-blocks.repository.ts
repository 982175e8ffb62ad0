import { Injectable } from '@nestjs/common';
import type { ListQuery } from '../../http/lists/list-query';
import { type ListSql, type Page, readPage } from '../../http/lists/page';
import { rawSql, sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import type { AddressBlockEntity } from './address-block.entity';
import { addressBlockList } from './address-block-list';

/** Maximum number of blocks, because each instance keeps all of them in memory. */
const blocksMax = 10_000;

const columns = rawSql(`
  address_blocks.address_block_id, address_blocks.network::text as network, address_blocks.reason,
  address_blocks.created_at, address_blocks.created_by, address_blocks.expires_at`);
const live = rawSql('address_blocks.expires_at > now()');
const endsInMs = rawSql('extract(epoch from expires_at - now())::float8 * 1000 as ends_in_ms');

const listSql: ListSql = {
  list: addressBlockList,
  filter: { spec: addressBlockList.filter, table: 'address_blocks' },
  from: rawSql('address_blocks'),
  id: 'address_blocks.address_block_id',
};

/** The time until a block ends, by the clock of the database. */
interface BlockEnd {
  ends_in_ms: number;
}

/** The SQL of address blocks. Ignores expired blocks. */
@Injectable()
export class AddressBlocksRepository {
  constructor(private readonly database: Database) {}

  listNetworks(): Promise<(Pick<AddressBlockEntity, 'network'> & BlockEnd)[]> {
    return this.database.run(sql`
      select network::text as network, ${endsInMs}
      from address_blocks
      where ${live}`);
  }

  /** Returns the end of the block of an address that ends last, or null. */
  findEnd(ip: string): Promise<BlockEnd | null> {
    return this.database.findPrepared<BlockEnd>(sql`
      select ${endsInMs}
      from address_blocks
      where network >>= ${ip}::inet and ${live}
      order by expires_at desc
      limit 1`);
  }

  list(query: ListQuery): Promise<Page<AddressBlockEntity>> {
    return readPage<AddressBlockEntity>(this.database, { ...listSql, columns, visible: live }, query);
  }

  /** Returns whether no further block may be created. */
  async isFull(): Promise<boolean> {
    const [row] = await this.database.run<{ is_full: boolean }>(sql`
      select count(*) >= ${blocksMax}::integer as is_full
      from address_blocks
      where ${live}`);
    return row?.is_full === true;
  }

  /** Inserts a block. Returns null if it would end in the past or in more than 30 days. */
  insert(block: Omit<AddressBlockEntity, 'created_at'>): Promise<AddressBlockEntity | null> {
    const { address_block_id, network, reason, created_by, expires_at } = block;
    return this.database.find<AddressBlockEntity>(sql`
      insert into address_blocks (address_block_id, network, reason, created_by, expires_at)
      select ${address_block_id}::uuid, network(${network}::inet), ${reason}::text, ${created_by}::uuid, ends.at
      from (select ${expires_at}::timestamptz(3) as at) ends
      where ends.at > now() and ends.at <= now() + interval '30 days'
      returning ${columns}`);
  }

  /** Deletes a block and returns it, or null. */
  delete(address_block_id: string): Promise<AddressBlockEntity | null> {
    return this.database.find<AddressBlockEntity>(sql`
      delete from address_blocks
      where address_block_id = ${address_block_id}::uuid and ${live}
      returning ${columns}`);
  }

  async removeExpired(): Promise<void> {
    await this.database.run(sql`delete from address_blocks where not ${live}`);
  }
}
