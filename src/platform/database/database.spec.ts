import type { QueryConfig } from 'pg';
import { rawSql } from '../../http/lists/sql';
import { monitored } from './data-source';
import { Database } from './database';

/** Returns a database, and the names of the statements that it sends. */
function recording(directUrl = 'same'): { database: Database; names: (string | undefined)[] } {
  const names: (string | undefined)[] = [];
  const query = ({ name }: QueryConfig) => Promise.resolve(names.push(name) > 0 ? [] : []);
  const host = { isTransactionActive: () => true, tx: { query } };
  const config = { DATABASE_URL: 'same', DATABASE_DIRECT_URL: directUrl };
  return { database: new Database(host as never, config as never, { beforeScrape: () => undefined } as never), names };
}

describe('named statements', () => {
  it('are at most 500, and keep their names (D31)', async () => {
    const { database, names } = recording();
    for (let index = 0; index < 550; index++) await database.runPrepared(rawSql(`select ${index}`));
    expect(new Set(names.slice(0, 500)).size).toBe(500);
    expect(names.slice(500)).toEqual(Array(50).fill(undefined));
    await database.runPrepared(rawSql('select 7'));
    expect(names.at(-1)).toBe(names[7]);
  });

  it('are not sent by `run`, nor behind a pooler', async () => {
    const [own, pooled] = [recording(), recording('other')];
    await own.database.run(rawSql('select 1'));
    await pooled.database.runPrepared(rawSql('select 1'));
    expect([...own.names, ...pooled.names]).toEqual([undefined, undefined]);
  });
});

it('survives a connection that fails before it is opened, because no host accepts writes (F41)', async () => {
  const socket = monitored().stream();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.destroy(new Error('the database does not respond'));
  await closed;
  expect(socket.destroyed).toBe(true);
});
