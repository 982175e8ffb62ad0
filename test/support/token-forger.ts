import type { KeyObject } from 'node:crypto';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { TestAnswer, TestLogin, TestService } from './service';
import { decode, forge, ownKey, visiblePart } from './tokens';

/** Tokens by their fault. */
export type Forgeries = Record<string, string>;

/** Forged tokens: the title of their test, and a function that creates them. */
export type ForgeryTable = [attack: string, make: (forger: TokenForger) => Forgeries | Promise<Forgeries>];

/** Creates forged tokens of a Carrier User and checks that each is rejected in every place. */
export class TokenForger {
  /** header of genuine tokens, and the key of the service */
  readonly header: Record<string, string>;
  readonly key: KeyObject;
  /** claims of the genuine token */
  readonly claims: Record<string, unknown>;
  /** rejected tokens */
  readonly refused = new Set<string>();
  /** number of connections to the address that tokens name */
  called = 0;

  private constructor(
    readonly service: TestService,
    readonly user: TestLogin,
    /** the response to every bad token */
    readonly refusal: object,
    private readonly listener: Server,
  ) {
    ({ header: this.header, key: this.key } = ownKey(service));
    this.claims = decode(user.token);
    listener.on('connection', (socket) => {
      this.called++;
      socket.destroy();
    });
  }

  static async make(service: TestService): Promise<TokenForger> {
    const user = await service.loginAs({ roles: ['carrier_user'] });
    const refusal = visiblePart(await service.get('/user', { token: 'garbage' }));
    expect(refusal).toMatchObject({ status: 401, body: { code: 'auth.token_invalid' } });
    const listener = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => listener.once('listening', resolve));
    return new TokenForger(service, user, refusal, listener);
  }

  /** The three parts of the genuine token. */
  get parts(): [string, string, string] {
    return this.user.token.split('.') as [string, string, string];
  }

  /** The signed text of the genuine token. */
  get signed(): string {
    return this.parts.slice(0, 2).join('.');
  }

  /** A URL for tokens; `called` counts connections to it. */
  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}/jwks.json`;
  }

  /** Returns the genuine claims with other headers. */
  signedBy(key: KeyObject, headers: Record<string, unknown>): Forgeries {
    return Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, forge(header, this.claims, key)]));
  }

  /** Returns the genuine claims with one header member changed, for each value. */
  withHeader(name: string, values: unknown[]): Forgeries {
    const headers = values.map((value, index) => [
      `${name} ${index}: ${JSON.stringify(value)}`.slice(0, 80),
      { ...this.header, [name]: value },
    ]);
    return this.signedBy(this.key, Object.fromEntries(headers));
  }

  /** Returns other claims with the genuine header and a valid signature. */
  claiming(variants: Record<string, unknown>): Forgeries {
    return Object.fromEntries(
      Object.entries(variants).map(([name, claims]) => [name, forge(this.header, claims, this.key)]),
    );
  }

  /** Returns the genuine claims without one. */
  without(claim: string): Record<string, unknown> {
    return Object.fromEntries(Object.entries(this.claims).filter(([name]) => name !== claim));
  }

  /**
   * Returns the genuine claims with one claim as a JSON text, which no JavaScript value may
   * express.
   */
  saying(claim: string, json: string): string {
    return `{${JSON.stringify(this.without(claim)).slice(1, -1)},${JSON.stringify(claim)}:${json}}`;
  }

  /**
   * Fails unless each token is rejected everywhere without delay, while the genuine token and a
   * newly signed one work before and after.
   */
  async assertRefused(forgeries: Forgeries): Promise<void> {
    const wrong: string[] = [];
    await this.assertGood(this.user.token);
    for (const [name, token] of Object.entries(forgeries)) {
      const began = performance.now();
      const answers = await this.tryEverywhere(token);
      const others = answers.filter(
        ([, answer]) => JSON.stringify(visiblePart(answer)) !== JSON.stringify(this.refusal),
      );
      for (const [way, answer] of others)
        if (!isRefusedField(answer)) wrong.push(`${name}, ${way}: ${answer.status} ${answer.text}`);
      if (others.length === 0 && answers.length === ways) this.refused.add(token);
      if (performance.now() - began > 2_000) wrong.push(`${name}: slow`);
    }
    expect(wrong).toEqual([]);
    await this.assertGood(this.user.token);
    await this.assertGood(forge(this.header, this.claims, this.key));
  }

  /** Fails unless a token works in every place. */
  async assertGood(token: string): Promise<void> {
    const answers = await this.tryEverywhere(token);
    const whose = answers.map(([way, { status, body }]) => [way, status, (body.user ?? body).user_id]);
    expect(whose).toEqual(answers.map(([way]) => [way, 200, this.user.user_id]));
    expect(answers).toHaveLength(ways);
  }

  /** Stops the listener. */
  close(): void {
    this.listener.close();
  }

  private async tryEverywhere(token: string): Promise<[string, TestAnswer][]> {
    const { service } = this;
    const answers: [string, TestAnswer][] = [
      ['check-token, body', await service.post('/auth/check-token', { body: { token } })],
    ];
    // Header bytes as Node reads them: no client can send control characters or surrounding spaces.
    const raw = Buffer.from(token).toString('latin1');
    if (!/^[\x21-\x7e\x80-\xff]+([ \t]+[\x21-\x7e\x80-\xff]+)*$/.test(raw)) return answers;
    const older = { headers: { 'x-auth-token': raw } };
    answers.push(['GET /user, X-Auth-Token', await service.get('/user', older)]);
    answers.push(['check-token, X-Auth-Token', await service.post('/auth/check-token', { ...older, body: {} })]);
    // With a space it is no longer a Bearer token.
    if (/[\s\xa0]/.test(raw)) return answers;
    answers.push(['GET /user, Bearer', await service.get('/user', { token: raw })]);
    answers.push(['check-token, Bearer', await service.post('/auth/check-token', { token: raw, body: {} })]);
    return answers;
  }
}

/** The number of places for a token. */
const ways = 5;

/** Texts that are too long or contain control characters are rejected earlier, as a field (400). */
function isRefusedField({ status, body }: TestAnswer): boolean {
  return status === 400 && body.errors?.[0]?.pointer === '/token';
}
