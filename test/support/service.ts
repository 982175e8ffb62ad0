import { Pool } from 'pg';
import { adminEmail, password } from './client';
import { assertCatalogued } from './data/events';
import { Mailbox } from './network/mailbox';
import { ServiceProcess } from './process/service-process';
import { createTestDatabase, type TestDatabase } from './test-database';

export { adminEmail, codeOf, password, type TestAnswer, type TestLogin, type TestRequest } from './client';

/** Settings of a test service. */
type Settings = Record<string, string> &
  Record<'DATABASE_URL' | 'APP_SECRET' | 'PUBLIC_URL' | 'BASE_PATH' | 'SMTP_URL', string>;

export const appSecret = 'test-secret-0123456789-abcdefghijklmnop';

/** The built service with its own database, a real mail server and a logged-in administrator. */
export class TestService extends ServiceProcess {
  readonly sql: Pool;

  private constructor(
    readonly config: Settings,
    readonly mailbox: Mailbox,
    private readonly database: TestDatabase,
  ) {
    super(Object.fromEntries(Object.entries(config).filter(([, value]) => value !== '')));
    this.sql = new Pool({ connectionString: config.DATABASE_URL, max: 2 });
    this.sql.on('error', () => undefined);
  }

  /** @param env settings beside those of all tests; an empty text removes one */
  static override async start(env: Record<string, string> = {}): Promise<TestService> {
    const database = await createTestDatabase();
    const mailbox = new Mailbox();
    await mailbox.start();
    const settings = {
      PUBLIC_URL: 'http://localhost:3000',
      BASE_PATH: '',
      DATABASE_URL: database.url,
      DATABASE_POOL_MAX: '8',
      APP_SECRET: appSecret,
      SMTP_URL: mailbox.url,
      ADMIN_EMAIL: adminEmail,
      ADMIN_PASSWORD: password,
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
      REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
      TRUST_PROXY: '127.0.0.1',
      ...env,
    };
    const service = new TestService(settings, mailbox, database);
    await service.ready().catch(async (error: unknown) => {
      await service.kill();
      await service.cleanUp();
      throw error;
    });
    if (settings.ADMIN_PASSWORD !== '') service.admin = await service.login(adminEmail);
    return service;
  }

  /** Stops the service and removes its database. */
  async close(): Promise<void> {
    try {
      const code = await this.stop();
      if (code !== 0) throw new Error(`The service ended with ${String(code)}: ${this.output}`);
      await assertCatalogued(this.sql);
    } finally {
      await this.cleanUp();
    }
  }

  /** Returns the rows of a query, after the service has received all notifications about it. */
  async rows<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    const { rows } = await this.sql.query(text, values);
    await this.inside<{ caughtUp: () => Promise<void> }>('Notifications').caughtUp();
    return rows as Row[];
  }

  private async cleanUp(): Promise<void> {
    await this.sql.end();
    await this.mailbox.stop();
    await this.database.drop();
  }
}
