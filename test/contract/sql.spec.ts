import 'reflect-metadata';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource, type EntityManager } from 'typeorm';
import { loadConfig } from '../../src/platform/config/config';
import { dataSourceOptions } from '../../src/platform/database/data-source';
import { Database } from '../../src/platform/database/database';
import { appSecret } from '../support/service';
import { sourceFiles } from '../support/contract/sources';
import {
  captureSql,
  describeCall,
  indentSql,
  observeDriver,
  operation_id,
  type SqlExamples,
  user_id,
} from '../support/contract/sql-examples';
import { SqlPage } from '../support/contract/sql-page';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const directory = 'docs/sql';
const all = readdirSync('test/sql').map(
  (file) => Object.values(jest.requireActual<Record<string, SqlExamples>>(`../sql/${file}`))[0] as SqlExamples,
);

/** Returns `api-keys` for `ApiKeysRepository`. */
const stemOf = ({ repository }: SqlExamples) =>
  repository.name
    .replace(/Repository$/, '')
    .replace(/(?!^)[A-Z]/g, '-$&')
    .toLowerCase();

/** Returns SQL without the numbers of its parameters, and with single spaces. */
const normalized = (text: string): string => text.replace(/\$\d+/g, '$').replace(/\s+/g, ' ').trim();

/** Calls the repositories without the service. `WRITE_SQL=1` writes the pages. */
describe('the SQL of the repositories', () => {
  let clone: TestDatabase;
  let source: DataSource;
  let restoreDriver: () => void;
  const config = () => loadConfig({ DATABASE_URL: clone.url, APP_SECRET: appSecret });
  /** The transaction of the current call. */
  const host = { tx: undefined as EntityManager | undefined, isTransactionActive: () => true };
  let database: Database;
  beforeAll(async () => {
    clone = await createTestDatabase();
    source = await new DataSource(dataSourceOptions({ url: clone.url, poolMax: 2, purpose: 'requests' })).initialize();
    database = new Database(host as never, config(), { beforeScrape: () => undefined } as never);
    await source.query(
      `insert into users (user_id, user_type, carrier_id, name, email, status)
      values ($1, 'carrier', 'c1', 'example', 'user@example.com', 'active')`,
      [user_id],
    );
    await source.query(
      `insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request)
      values ($1, 'import', 'user:import', 'receiving', 'user', $2, '{}')`,
      [operation_id, user_id],
    );
    // Fixes the statistics: the planner's estimates decide how lists with a text filter are read.
    await source.query('analyze users, user_search, user_logins, user_seen');
    restoreDriver = observeDriver();
  });
  afterAll(async () => {
    restoreDriver();
    await source.destroy();
    await clone.drop();
  });

  /** Calls a method in a transaction, rolls it back, and returns the statements. */
  async function statementsOf({ repository, read }: SqlExamples, method: string, args: unknown[]): Promise<string[]> {
    const target = new repository(...([database, config()] as never[])) as Record<
      string,
      (...all: unknown[]) => unknown
    >;
    const runner = source.createQueryRunner();
    await runner.startTransaction();
    host.tx = runner.manager;
    try {
      const texts = await captureSql(async () => {
        const result = await target[method]?.(...args);
        await read?.(result as never);
      });
      return texts.map((text) => `${indentSql(text)};`);
    } catch (cause) {
      throw new Error(describeCall(method, args), { cause });
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
  }

  /** Returns the statements that the source of the repository does not contain in full. */
  async function pageOf(examples: SqlExamples, code: string): Promise<string> {
    const parts: string[] = [];
    const page = new SqlPage();
    const known = normalized(code.replace(/\$\{[^`{}]*\}/g, '$'));
    for (const [method, calls] of Object.entries(examples.calls))
      for (const args of calls) {
        const statements = await statementsOf(examples, method, args);
        const composed = statements.filter((text) => !known.includes(normalized(text.slice(0, -1))));
        if (composed.length === 0) continue;
        parts.push([describeCall(method, args), ...composed.map((text) => page.shorten(text, method))].join('\n'));
      }
    return parts.map((part) => `${part}\n`).join('\n');
  }

  it('is documented for each repository, and for no other', () => {
    const files = sourceFiles('.repository.ts').map(({ path }) =>
      path.split('/').at(-1)?.replace('.repository.ts', ''),
    );
    expect(all.map(stemOf).sort()).toEqual(files.sort());
    const stale = readdirSync(directory).filter((file) => !all.some((examples) => file === `${stemOf(examples)}.sql`));
    if (process.env['WRITE_SQL'] !== undefined) stale.forEach((file) => rmSync(join(directory, file)));
    else expect(stale).toEqual([]);
  });

  it.each(all.map((examples) => [stemOf(examples), examples] as const))(
    'is documented in docs/sql/%s.sql if the repository composes a statement from parts',
    async (stem, examples) => {
      const code = sourceFiles(`/${stem}.repository.ts`)[0]?.text ?? '';
      const body = code.split(/^export class /m)[1]?.split(/^}/m)[0] ?? '';
      const methods = [...body.matchAll(/^ {2}(?:async )?\*?([a-z]\w*)(?:<.*>)?\(/gm)].map(([, name]) => name);
      expect(Object.keys(examples.calls)).toEqual(methods.filter((name) => name !== 'constructor'));
      const page = await pageOf(examples, code);
      const file = join(directory, `${stem}.sql`);
      if (process.env['WRITE_SQL'] !== undefined) {
        rmSync(file, { force: true });
        if (page !== '') writeFileSync(file, page);
      }
      expect(existsSync(file) ? readFileSync(file, 'utf8') : '').toBe(page);
    },
  );
});
