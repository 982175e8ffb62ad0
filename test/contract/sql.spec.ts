import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TransactionHost } from '@nestjs-cls/transactional';
import { TestService } from '../support/service';
import { sourceFiles } from '../support/sources';
import { SqlPage } from '../support/sql-page';
import {
  captureSql,
  describeCall,
  indentSql,
  observeDriver,
  operation_id,
  type SqlExamples,
  user_id,
} from '../support/sql-examples';
import { apiKeys } from '../sql/api-keys';
import { credentials } from '../sql/credentials';
import { enrollmentCodes } from '../sql/enrollment-codes';
import { events } from '../sql/events';
import { factorUpkeep } from '../sql/factor-upkeep';
import { factors } from '../sql/factors';
import { exportLinks } from '../sql/export-links';
import { expiredChallenges } from '../sql/expired-challenges';
import { hashCosts } from '../sql/hash-costs';
import { health } from '../sql/health';
import { idempotency } from '../sql/idempotency';
import { invitations } from '../sql/invitations';
import { jobs } from '../sql/jobs';
import { liveLogins } from '../sql/live-logins';
import { loginChallenges } from '../sql/login-challenges';
import { loginAttempts } from '../sql/login-attempts';
import { logins } from '../sql/logins';
import { mails } from '../sql/mails';
import { operationBatches } from '../sql/operation-batches';
import { operationRetention } from '../sql/operation-retention';
import { operations } from '../sql/operations';
import { passkeys } from '../sql/passkeys';
import { rateLimits } from '../sql/rate-limits';
import { roles } from '../sql/roles';
import { sessionEnds } from '../sql/session-ends';
import { sessions } from '../sql/sessions';
import { signingKeys } from '../sql/signing-keys';
import { skippedRows } from '../sql/skipped-rows';
import { factorOwners } from '../sql/factor-owners';
import { stats } from '../sql/stats';
import { users } from '../sql/users';
import { usersBulk } from '../sql/users-bulk';
import { usersExport } from '../sql/users-export';
import { usersImport } from '../sql/users-import';

const directory = 'docs/sql';
const all = [
  apiKeys,
  credentials,
  enrollmentCodes,
  events,
  factorUpkeep,
  factors,
  expiredChallenges,
  exportLinks,
  hashCosts,
  health,
  idempotency,
  invitations,
  jobs,
  liveLogins,
  loginAttempts,
  loginChallenges,
  logins,
  mails,
  operationBatches,
  operationRetention,
  operations,
  passkeys,
  rateLimits,
  roles,
  sessionEnds,
  sessions,
  signingKeys,
  skippedRows,
  factorOwners,
  stats,
  users,
  usersBulk,
  usersExport,
  usersImport,
];

/** Returns `api-keys` for `ApiKeysRepository`. */
const stemOf = ({ repository }: SqlExamples) =>
  repository.name
    .replace(/Repository$/, '')
    .replace(/(?!^)[A-Z]/g, '-$&')
    .toLowerCase();

describe('the SQL of the repositories', () => {
  let service: TestService;
  let restoreDriver: () => void;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(
      `insert into users (user_id, user_type, carrier_id, name, email, status)
      values ($1, 'carrier', 'c1', 'example', 'user@example.com', 'active')`,
      [user_id],
    );
    await service.rows(
      `insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request)
      values ($1, 'import', 'user:import', 'receiving', 'user', $2, '{}')`,
      [operation_id, user_id],
    );
    // Fixes the statistics: the planner's estimates decide how lists with a text filter are read.
    await service.rows('analyze users, user_search, user_logins, user_seen');
    restoreDriver = observeDriver();
  });
  afterAll(async () => {
    restoreDriver();
    await service.close();
  });

  /** Calls a method in a transaction, rolls it back, and returns the statements. */
  async function statementsOf({ repository, read }: SqlExamples, method: string, args: unknown[]): Promise<string[]> {
    const target = service.app.get<Record<string, (...args: unknown[]) => unknown>>(repository);
    const rollback = new Error('rollback');
    let texts: string[] = [];
    const run = service.app.get(TransactionHost).withTransaction(async () => {
      texts = await captureSql(async () => {
        const result = await target[method]?.(...args);
        await read?.(result as never);
      });
      throw rollback;
    });
    await run.catch((error: unknown) => {
      if (error !== rollback) throw new Error(describeCall(method, args), { cause: error });
    });
    return texts.map((text) => `${indentSql(text)};`);
  }

  async function pageOf(examples: SqlExamples): Promise<string> {
    const stem = stemOf(examples);
    const parts = [
      `-- The statements of ${examples.repository.name}, as they are sent.\n` +
        `-- Written by \`npm run generate\` from the examples in test/sql/${stem}.ts.\n` +
        '-- <columns of find> and <as in find> stand for lines that the page shows at find(…).',
    ];
    const page = new SqlPage();
    for (const [method, calls] of Object.entries(examples.calls))
      for (const args of calls) {
        const statements = await statementsOf(examples, method, args);
        parts.push([describeCall(method, args), ...statements.map((text) => page.shorten(text, method))].join('\n'));
      }
    return `${parts.join('\n\n')}\n`;
  }

  it('is documented for each repository', () => {
    const files = sourceFiles('.repository.ts').map(({ path }) =>
      path.split('/').at(-1)?.replace('.repository.ts', ''),
    );
    expect(all.map(stemOf).sort()).toEqual(files.sort());
  });

  it.each(all.map((examples) => [stemOf(examples), examples] as const))(
    'is documented in docs/sql/%s.sql',
    async (stem, examples) => {
      const source =
        sourceFiles(`/${stem}.repository.ts`)[0]
          ?.text.split(/^export class /m)[1]
          ?.split(/^}/m)[0] ?? '';
      const methods = [...source.matchAll(/^ {2}(?:async )?\*?([a-z]\w*)(?:<.*>)?\(/gm)].map(([, name]) => name);
      expect(Object.keys(examples.calls)).toEqual(methods.filter((name) => name !== 'constructor'));
      const page = await pageOf(examples);
      if (process.env['WRITE_SQL'] !== undefined) {
        mkdirSync(directory, { recursive: true });
        writeFileSync(join(directory, `${stem}.sql`), page);
      }
      expect(readFileSync(join(directory, `${stem}.sql`), 'utf8')).toBe(page);
    },
  );

  it('has no pages of repositories that do not exist', () => {
    const stale = readdirSync(directory).filter((file) => !all.some((examples) => file === `${stemOf(examples)}.sql`));
    if (process.env['WRITE_SQL'] !== undefined) stale.forEach((file) => rmSync(join(directory, file)));
    else expect(stale).toEqual([]);
  });
});
