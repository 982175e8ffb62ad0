import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { TestAnswer, TestLogin, TestRequest, TestService } from '../service';
import { decode, forge, ownKey, visiblePart } from './tokens';

/** Tokens by their fault. */
export type Forgeries = Record<string, string>;

/** Forged tokens: the title of their test, and a function that creates them. */
export type ForgeryTable = [attack: string, make: (forger: TokenForger) => Forgeries | Promise<Forgeries>];

/** Creates a token from each value. */
export function tokensOf<Value>(values: Record<string, Value>, make: (value: Value) => string): Forgeries {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make(value)]));
}

/** Names each value by its JSON text. */
export function named(values: unknown[]): Record<string, unknown> {
  return Object.fromEntries(values.map((value) => [JSON.stringify(value), value]));
}

/** Creates forged tokens of a Carrier User and checks that each is rejected in every place. */
export class TokenForger {
  /** claims of the genuine token */
  readonly claims: Record<string, unknown>;
  /** number of connections to the address that tokens name */
  called = 0;

  private constructor(
    readonly service: TestService,
    readonly user: TestLogin,
    /** the response to every bad token */
    private readonly refusal: string,
    private readonly listener: Server,
    /** key of the service */
    readonly key: KeyObject,
    /** header of genuine tokens */
    readonly header: Record<string, string>,
    private readonly newIp: () => string,
  ) {
    this.claims = decode(user.token);
    listener.on('connection', (socket) => {
      this.called++;
      socket.destroy();
    });
  }

  /** @param newIp returns a new address, because bad tokens are limited per address */
  static async make(service: TestService, newIp: () => string): Promise<TokenForger> {
    const user = await service.loginAs({ roles: ['carrier_user'] });
    const refusal = await service.get('/user', { token: 'garbage', ip: newIp() });
    expect([refusal.status, refusal.body.code]).toEqual([401, 'auth.token_invalid']);
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { key, header } = await ownKey(service);
    return new TokenForger(service, user, JSON.stringify(visiblePart(refusal)), listener, key, header, newIp);
  }

  /** The three parts of the genuine token. */
  get parts(): [string, string, string] {
    return this.user.token.split('.') as [string, string, string];
  }

  /** A URL for tokens; `called` counts connections to it. */
  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}/jwks.json`;
  }

  /** Returns the genuine claims with other headers. */
  signedBy(key: KeyObject, headers: Record<string, unknown>): Forgeries {
    return tokensOf(headers, (header) => forge(header, this.claims, key));
  }

  /** Returns the genuine claims with one header member changed, for each value. */
  withHeader(name: string, values: unknown[]): Forgeries {
    return this.signedBy(this.key, named(values.map((value) => ({ ...this.header, [name]: value }))));
  }

  /** Returns other claims with the genuine header and a valid signature. */
  claiming(payloads: Record<string, unknown>): Forgeries {
    return tokensOf(payloads, (payload) => forge(this.header, payload, this.key));
  }

  /** Returns the genuine claims without one. */
  without(claim: string): Record<string, unknown> {
    return { ...this.claims, [claim]: undefined };
  }

  /** Returns the genuine claims with one claim as a JSON text. */
  saying(claim: string, json: string): string {
    return JSON.stringify(this.without(claim)).replace(/}$/, `,${JSON.stringify(claim)}:${json}}`);
  }

  /**
   * Fails unless each token is rejected everywhere with the same response, while the genuine token
   * and a newly signed one still work.
   */
  async assertRefused(forgeries: Forgeries): Promise<void> {
    const wrong: string[] = [];
    for (const [name, token] of Object.entries(forgeries))
      for (const answer of await this.tryEverywhere(token)) {
        // Texts that are too long or contain control characters are rejected earlier, as a field.
        const isRefusedField = answer.status === 400 && answer.body.errors?.[0]?.pointer === '/token';
        if (JSON.stringify(visiblePart(answer)) !== this.refusal && !isRefusedField)
          wrong.push(`${name}: ${answer.status} ${answer.text}`);
      }
    expect(wrong).toEqual([]);
    for (const good of [this.user.token, forge(this.header, this.claims, this.key)]) {
      const owners = (await this.tryEverywhere(good)).map(({ status, body }) => [status, (body.user ?? body).user_id]);
      expect(owners).toEqual(Array(3).fill([200, this.user.user_id]));
    }
  }

  /** Stops the listener. */
  close(): void {
    this.listener.close();
  }

  private async tryEverywhere(token: string): Promise<TestAnswer[]> {
    const send = (method: string, path: string, request: TestRequest) =>
      this.service.send(method, path, { ...request, ip: this.newIp() });
    const answers = [await send('POST', '/auth/check-token', { body: { token } })];
    // Header bytes as Node reads them: no client can send control characters or surrounding spaces.
    const raw = Buffer.from(token).toString('latin1');
    if (!/^[\x21-\x7e\x80-\xff]+([ \t]+[\x21-\x7e\x80-\xff]+)*$/.test(raw)) return answers;
    answers.push(await send('GET', '/user', { headers: { 'x-auth-token': raw } }));
    // With a space it is no longer a Bearer token.
    if (!/[\s\xa0]/.test(raw)) answers.push(await send('POST', '/auth/check-token', { token: raw, body: {} }));
    return answers;
  }
}
