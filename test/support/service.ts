import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Pool } from 'pg';
import { type BodyLimits, createApp } from '../../src/app.setup';
import { FirstAdministrator } from '../../src/recovery/first-administrator.service';
import { resetLimits } from '../../src/recovery/reset-requests.service';
import { type Config, loadConfig } from '../../src/config/config';
import { Notifications } from '../../src/database/notifications.service';
import { assertDocumented, isJson } from './document';
import { assertCatalogued } from './events';
import { Mailbox } from './mailbox';
import { createTestDatabase } from './test-database';

/** A request of a test. */
export interface TestRequest {
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** client address */
  ip?: string;
}

/** A response, with a parsed body if it is JSON. */
export interface TestAnswer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- checked by ajv
  body: any;
}

/** A logged-in user. */
export interface TestLogin {
  user_id: string;
  token: string;
  refresh_token: string;
  session_id: string;
}

export const password = 'correct horse battery staple';
export const adminEmail = 'admin@example.com';
export const appSecret = 'test-secret-0123456789-abcdefghijklmnop';

/**
 * The whole service with a separate database and a real mail server. Each response is validated
 * against the document.
 */
export class TestService {
  admin!: TestLogin;
  private count = 0;

  private constructor(
    readonly app: NestFastifyApplication,
    readonly config: Config,
    readonly mailbox: Mailbox,
    readonly sql: Pool,
    private readonly dispose: () => Promise<void>,
  ) {}

  static async start(env: Record<string, string> = {}, limits: Partial<BodyLimits> = {}): Promise<TestService> {
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
      LOG_LEVEL: process.env['TEST_LOG'] ?? 'silent',
      ...env,
    });
    // Otherwise each test that follows a mailed link would wait for seconds.
    resetLimits.delaySeconds = 0;
    const app = await createApp(config, limits);
    await app.get(FirstAdministrator).ensure();
    const sql = new Pool({ connectionString: config.DATABASE_URL, max: 2 });
    sql.on('error', () => undefined);
    const service = new TestService(app, config, mailbox, sql, async () => {
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
    return service;
  }

  async close(): Promise<void> {
    await this.dispose();
  }

  /** Sends a request through the whole stack, without a socket. */
  async send(method: string, url: string, { token, body, headers = {}, ip }: TestRequest = {}): Promise<TestAnswer> {
    const response = await this.app.inject({
      method: method as 'GET',
      url,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
      ...(body === undefined ? {} : { payload: body as object }),
      ...(ip === undefined ? {} : { remoteAddress: ip }),
    });
    const type = String(response.headers['content-type'] ?? '');
    assertDocumented(method, url.slice(this.config.BASE_PATH.length), response.statusCode, type, response.payload);
    const parsed: unknown = isJson(type) ? JSON.parse(response.payload) : undefined;
    return { status: response.statusCode, headers: response.headers, text: response.payload, body: parsed };
  }

  get(url: string, request?: TestRequest): Promise<TestAnswer> {
    return this.send('GET', url, request);
  }

  post(url: string, request?: TestRequest): Promise<TestAnswer> {
    return this.send('POST', url, request);
  }

  patch(url: string, request?: TestRequest): Promise<TestAnswer> {
    return this.send('PATCH', url, request);
  }

  delete(url: string, request?: TestRequest): Promise<TestAnswer> {
    return this.send('DELETE', url, request);
  }

  /** Logs in over the API. */
  async login(login: string, secret = password): Promise<TestLogin> {
    const { status, body, text } = await this.post(`${this.config.BASE_PATH}/auth/login`, {
      body: { login, password: secret },
    });
    if (status !== 200) throw new Error(`login of ${login}: ${text}`);
    return {
      user_id: body.user.user_id,
      token: body.access_token,
      refresh_token: body.refresh_token,
      session_id: body.session_id,
    };
  }

  /** Creates a user with a password that need not be changed; any field can be given. */
  async createUser(
    fields: Record<string, unknown> = {},
    by = this.admin,
  ): Promise<{ user_id: string; name: string; email: string; version: number }> {
    const name = `user${++this.count}-${Math.random().toString(36).slice(2, 8)}`;
    const carrier = fields['user_type'] === 'system' ? {} : { user_type: 'carrier', carrier_id: 'c1' };
    const body = { name, email: `${name}@example.com`, ...carrier, password, must_change_password: false, ...fields };
    const answer = await this.post(`${this.config.BASE_PATH}/user/create`, { token: by.token, body });
    if (answer.status !== 201) throw new Error(`create: ${answer.text}`);
    return answer.body;
  }

  /** Creates a user and logs in. */
  async loginAs(fields: Record<string, unknown> = {}): Promise<TestLogin & { name: string; email: string }> {
    const { name, email } = await this.createUser(fields);
    return { ...(await this.login(name)), name, email };
  }

  /** Returns the rows of a query, after the service has received all notifications about it. */
  async rows<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    const { rows } = await this.sql.query(text, values);
    await this.app.get(Notifications).caughtUp();
    return rows as Row[];
  }

  /** Listens on a port, by default a free one, for tests that need a socket. */
  async listen(wanted = 0): Promise<{ url: string; port: number }> {
    await this.app.listen(wanted, '127.0.0.1');
    const { port } = this.app.getHttpServer().address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}`, port };
  }
}
