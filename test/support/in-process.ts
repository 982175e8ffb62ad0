import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Pool } from 'pg';
import { type BodyLimits, createApp } from '../../src/app.setup';
import { FirstAdministrator } from '../../src/auth/recovery/first-administrator.service';
import { resetLimits } from '../../src/auth/recovery/reset-requests.service';
import { type Config, loadConfig } from '../../src/platform/config/config';
import { Notifications } from '../../src/platform/database/notifications.service';
import { adminEmail, Client, password, type RawRequest, type RawResponse } from './client';
import { assertCatalogued } from './events';
import { Mailbox } from './mailbox';
import { appSecret, type TestService as ProcessService } from './service';
import { createTestDatabase } from './test-database';

// eslint-disable-next-line house/shape -- as `./service`, for specs that are not rewritten yet
export * from './service';

/** The service in the process of the test, which can replace and call its parts. */
export type TestService = InProcess & ProcessService;

class InProcess extends Client {
  constructor(
    readonly app: NestFastifyApplication,
    readonly config: Config & Record<string, string>,
    readonly mailbox: Mailbox,
    readonly sql: Pool,
    private readonly dispose: () => Promise<void>,
  ) {
    super(config.BASE_PATH);
  }

  override get url(): string {
    return `http://127.0.0.1:${(this.app.getHttpServer().address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    await this.dispose();
  }

  override async inject(wanted: RawRequest | string): Promise<RawResponse> {
    return (await this.app.inject(wanted as string)) as unknown as RawResponse;
  }

  async rows<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    const { rows } = await this.sql.query(text, values);
    await this.app.get(Notifications).caughtUp();
    return rows as Row[];
  }

  /** Listens on a port, by default a free one, for tests that need a socket. */
  async listen(wanted = 0): Promise<{ url: string; port: number }> {
    await this.app.listen(wanted, '127.0.0.1');
    const { port } = this.app.getHttpServer().address() as AddressInfo;
    return { url: this.url, port };
  }
}

export const TestService = {
  async start(env: Record<string, string> = {}, limits: Partial<BodyLimits> = {}): Promise<TestService> {
    const database = await createTestDatabase();
    const mailbox = new Mailbox();
    await mailbox.start();
    const dataDir = mkdtempSync(join(tmpdir(), 'carrier-identity-data-'));
    const config = loadConfig({
      PORT: '3000',
      DATABASE_URL: database.url,
      DATABASE_POOL_MAX: '8',
      APP_SECRET: appSecret,
      DATA_DIR: dataDir,
      SMTP_URL: mailbox.url,
      ADMIN_EMAIL: adminEmail,
      ADMIN_PASSWORD: password,
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
      REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
      LOG_LEVEL: 'silent',
      ...env,
    }) as Config & Record<string, string>;
    // Otherwise each test that follows a mailed link would wait for seconds.
    resetLimits.delaySeconds = 0;
    const app = await createApp(config, limits);
    await app.get(FirstAdministrator).ensure();
    const sql = new Pool({ connectionString: config.DATABASE_URL, max: 2 });
    sql.on('error', () => undefined);
    const service = new InProcess(app, config, mailbox, sql, async () => {
      await app.close();
      try {
        await assertCatalogued(sql);
      } finally {
        await sql.end();
        await mailbox.stop();
        await database.drop();
        rmSync(dataDir, { recursive: true, force: true });
      }
    });
    if (config.ADMIN_PASSWORD !== undefined) service.admin = await service.login(adminEmail);
    return service as unknown as TestService;
  },
};
