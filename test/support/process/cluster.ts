import { Pool } from 'pg';
import { adminEmail, appSecret, password } from '../service';
import { ServiceProcess } from './service-process';
import { createTestDatabase } from '../test-database';

/** A separate database, used only by service processes that a test can kill. */
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
    const sql = new Pool({ connectionString: url, max: 4, application_name: 'tests' });
    sql.on('error', () => undefined);
    return new Cluster({ DATABASE_URL: url, PUBLIC_URL: 'http://localhost:3000', ...secrets, ...limits }, sql, drop);
  }

  /** The URL of the database. */
  get databaseUrl(): string {
    return this.env['DATABASE_URL'] as string;
  }

  /**
   * Starts another instance without waiting until it is ready.
   * @param output file descriptor for stdout and stderr; `env` then needs a PORT
   */
  spawn(env: Record<string, string> = {}, output?: number): ServiceProcess {
    const instance = new ServiceProcess({ ...this.env, ...env }, output);
    this.processes.add(instance);
    return instance;
  }

  /** Starts another instance and waits until it is ready. */
  async start(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const instance = this.spawn(env);
    await instance.ready().catch(async (error: unknown) => {
      await instance.kill();
      throw error;
    });
    return instance;
  }

  /** Logs in the first administrator. The access token works on every instance. */
  async login(instance: ServiceProcess): Promise<string> {
    const { body } = await instance.send('POST', '/auth/login', { body: { login: adminEmail, password } });
    return body.access_token as string;
  }

  /** Returns the rows of a query. */
  async rows<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.sql.query(text, values)).rows as Row[];
  }

  /** Kills all running instances and drops the database. */
  async close(): Promise<void> {
    await Promise.all([...this.processes].map((instance) => instance.kill()));
    await this.sql.end();
    await this.drop();
  }
}
