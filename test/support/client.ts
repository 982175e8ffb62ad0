import { once } from 'node:events';
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { assertDocumented, isJson } from './contract/document';

/** A request of a test. */
export interface TestRequest {
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** client address, as a trusted proxy forwards it */
  ip?: string;
}

/** A response, with a parsed body if it is JSON. */
export interface TestAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- checked by ajv
  body: any;
}

/** Returns the status of a response, with the code of an error: `404 user.not_found`. */
export function codeOf({ status, body }: TestAnswer): string {
  return `${status} ${body?.code ?? ''}`.trim();
}

/** A request as it is sent. */
export interface RawRequest {
  method?: string;
  /** path and query, not normalized */
  url: string;
  headers?: Record<string, string | string[]>;
  /** sent as it is; an object is sent as JSON */
  payload?: string | Buffer | object;
  /** client address, as a trusted proxy forwards it */
  remoteAddress?: string;
}

/** A response as it was received. */
export interface RawResponse {
  statusCode: number;
  headers: IncomingMessage['headers'];
  rawPayload: Buffer;
  body: string;
}

/** A logged-in user. */
export interface TestLogin {
  user_id: string;
  token: string;
  refresh_token: string;
  session_id: string;
}

/** A request and its response, for the report of a failure. */
interface Exchange {
  request: string;
  response: string;
  request_id: string;
}

export const password = 'correct horse battery staple';
export const adminEmail = 'admin@example.com';

const exchangesMax = 5;

/** The last requests of the test file and their responses. */
export const exchanges: Exchange[] = [];

/** Sends requests to a service, and validates each response against the OpenAPI document. */
export abstract class Client {
  /** the first administrator */
  admin!: TestLogin;
  /** number of requests with a response */
  answered = 0;
  protected readonly agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  private created = 0;

  /** address of the service, without the base path */
  abstract get url(): string;

  /** @param basePath the setting BASE_PATH of the service */
  constructor(protected readonly basePath: string) {}

  /** Sends a request, and validates the response against the document. */
  async send(method: string, url: string, { token, body, headers = {}, ip }: TestRequest = {}): Promise<TestAnswer> {
    const response = await this.inject({
      method,
      url,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
      ...(body === undefined ? {} : { payload: body as object }),
      ...(ip === undefined ? {} : { remoteAddress: ip }),
    });
    const type = response.headers['content-type'] ?? '';
    assertDocumented(method, url.slice(this.basePath.length), response.statusCode, type, response.body);
    const parsed: unknown = isJson(type) ? JSON.parse(response.body) : undefined;
    return { status: response.statusCode, headers: response.headers, text: response.body, body: parsed };
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

  /** Sends a request as it is. */
  async inject(wanted: RawRequest | string): Promise<RawResponse> {
    const raw = typeof wanted === 'string' ? { url: wanted } : wanted;
    const { method = 'GET', url, headers = {}, payload, remoteAddress } = raw;
    const isJsonBody = payload !== undefined && typeof payload !== 'string' && !Buffer.isBuffer(payload);
    const sent = isJsonBody ? JSON.stringify(payload) : payload;
    const { hostname, port } = new URL(this.url);
    const request = httpRequest({
      agent: this.agent,
      hostname,
      port,
      method,
      path: url,
      headers: {
        ...(isJsonBody ? { 'content-type': 'application/json' } : {}),
        ...(sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) }),
        ...(remoteAddress === undefined ? {} : { 'x-forwarded-for': remoteAddress }),
        ...headers,
      },
    });
    request.end(sent);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const rawPayload = Buffer.concat(await response.toArray());
    const text = rawPayload.toString();
    this.answered++;
    const request_id = String(response.headers['x-request-id']);
    exchanges.push({
      request: `${method} ${url} ${String(sent ?? '').slice(0, 1_000)}`,
      response: `${response.statusCode} ${text.slice(0, 2_000)}`,
      request_id,
    });
    if (exchanges.length > exchangesMax) exchanges.shift();
    return { statusCode: response.statusCode ?? 0, headers: response.headers, rawPayload, body: text };
  }

  /** Logs in over the API. */
  async login(login: string, secret = password): Promise<TestLogin> {
    const { status, body, text } = await this.post(`${this.basePath}/auth/login`, {
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
    const name = `user${++this.created}-${Math.random().toString(36).slice(2, 8)}`;
    const carrier = fields['user_type'] === 'system' ? {} : { user_type: 'carrier', carrier_id: 'c1' };
    const body = { name, email: `${name}@example.com`, ...carrier, password, must_change_password: false, ...fields };
    const answer = await this.post(`${this.basePath}/user/create`, { token: by.token, body });
    if (answer.status !== 201) throw new Error(`create: ${answer.text}`);
    return answer.body;
  }

  /** Creates a user without a password, who is mailed an invitation. */
  inviteUser(fields: Record<string, unknown> = {}): ReturnType<Client['createUser']> {
    return this.createUser({ password: undefined, must_change_password: undefined, ...fields });
  }

  /** Creates a user and logs in. */
  async loginAs(fields: Record<string, unknown> = {}): Promise<TestLogin & { name: string; email: string }> {
    const { name, email } = await this.createUser(fields);
    return { ...(await this.login(name)), name, email };
  }
}
