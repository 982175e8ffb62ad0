import { Pool } from 'pg';
import { adminEmail, appSecret, password } from './service';
import { ServiceProcess } from './service-process';
import { createTestDatabase } from './test-database';

/**
 * One database and the processes that work on it; nothing else does, so that what is done is done
 * by a process that can be killed.
 */
export class Cluster {
  private readonly processes = new Set<ServiceProcess>();

  private constructor(
    private readonly env: Record<string, string>,
    private readonly sql: Pool,
    private readonly drop: () => Promise<void>,
  ) {}

  static async create(): Promise<Cluster> {
    const { url, drop } = await createTestDatabase();
    const limits = {
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
      REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
      ACCESS_TOKEN_TTL_SECONDS: '3600',
    };
    const secrets = { APP_SECRET: appSecret, ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password };
    const sql = new Pool({ connectionString: url, max: 4 });
    sql.on('error', () => undefined);
    return new Cluster({ DATABASE_URL: url, PUBLIC_URL: 'http://localhost:3000', ...secrets, ...limits }, sql, drop);
  }

  /** URL of the database. */
  get databaseUrl(): string {
    return this.env['DATABASE_URL'] as string;
  }

  /** Starts another instance, and does not wait until it is ready. */
  async spawn(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const instance = await ServiceProcess.spawn({ ...this.env, ...env });
    this.processes.add(instance);
    return instance;
  }

  /** Starts another instance, and waits until it is ready. */
  async start(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const instance = await this.spawn(env);
    await instance.ready();
    return instance;
  }

  /** An access token of the first administrator, good on every instance. */
  async login(instance: ServiceProcess): Promise<string> {
    const { body } = await instance.send('POST', '/auth/login', { body: { login: adminEmail, password } });
    return body.access_token as string;
  }

  /** Rows of a query on the database. */
  async rows<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.sql.query(text, values)).rows as Row[];
  }

  /** Kills what still runs, and drops the database. */
  async close(): Promise<void> {
    await Promise.all([...this.processes].map((instance) => instance.kill()));
    await this.sql.end();
    await this.drop();
  }
}
