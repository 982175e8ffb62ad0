import type { KeyObject } from 'node:crypto';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { TestAnswer, TestLogin, TestService } from './service';
import { decode, forge, ownKey, visiblePart } from './tokens';

/** Tokens by what is wrong with them. */
export type Forgeries = Record<string, string>;

/** A table of forged tokens: what the attack is, and how its tokens are made. */
export type ForgeryTable = [attack: string, make: (forger: TokenForger) => Forgeries | Promise<Forgeries>];

/**
 * Makes forged tokens of a Carrier User, and sees that each is refused wherever a token can be
 * given.
 */
export class TokenForger {
  /** the header of genuine tokens, and the service's own key */
  readonly header: Record<string, string>;
  readonly key: KeyObject;
  /** what the user's genuine token says */
  readonly claims: Record<string, unknown>;
  /** different tokens that got the one refusal in every way a token can be given */
  readonly refused = new Set<string>();
  /** connections to the address that is named in tokens */
  called = 0;

  private constructor(
    readonly service: TestService,
    readonly user: TestLogin,
    /** the one answer to every bad token */
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

  /** The genuine token in its three parts. */
  get parts(): [string, string, string] {
    return this.user.token.split('.') as [string, string, string];
  }

  /** What the genuine signature is of. */
  get signed(): string {
    return this.parts.slice(0, 2).join('.');
  }

  /** A place that a token can tell the service to call; `called` counts who does. */
  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}/jwks.json`;
  }

  /** The genuine claims under other headers. */
  signedBy(key: KeyObject, headers: Record<string, unknown>): Forgeries {
    return Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, forge(header, this.claims, key)]));
  }

  /**
   * The genuine claims under the genuine header with one member changed, for each of the values.
   */
  withHeader(name: string, values: unknown[]): Forgeries {
    const headers = values.map((value, index) => [
      `${name} ${index}: ${JSON.stringify(value)}`.slice(0, 80),
      { ...this.header, [name]: value },
    ]);
    return this.signedBy(this.key, Object.fromEntries(headers));
  }

  /** Other claims under the genuine header, signed with the service's own key. */
  claiming(variants: Record<string, unknown>): Forgeries {
    return Object.fromEntries(
      Object.entries(variants).map(([name, claims]) => [name, forge(this.header, claims, this.key)]),
    );
  }

  /** The genuine claims without one. */
  without(claim: string): Record<string, unknown> {
    return Object.fromEntries(Object.entries(this.claims).filter(([name]) => name !== claim));
  }

  /**
   * The genuine claims with one claim as this text of JSON: also what no value of JavaScript says.
   */
  saying(claim: string, json: string): string {
    return `{${JSON.stringify(this.without(claim)).slice(1, -1)},${JSON.stringify(claim)}:${json}}`;
  }

  /**
   * Fails unless each gets the one refusal everywhere, without delay, while the genuine token is
   * good before and after, in every way, and one made in the same way too.
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

  /** Fails unless a token is taken for the user's in every way it can be given. */
  async assertGood(token: string): Promise<void> {
    const answers = await this.tryEverywhere(token);
    const whose = answers.map(([way, { status, body }]) => [way, status, (body.user ?? body).user_id]);
    expect(whose).toEqual(answers.map(([way]) => [way, 200, this.user.user_id]));
    expect(answers).toHaveLength(ways);
  }

  /** Stops listening. */
  close(): void {
    this.listener.close();
  }

  private async tryEverywhere(token: string): Promise<[string, TestAnswer][]> {
    const { service } = this;
    const answers: [string, TestAnswer][] = [
      ['check-token, body', await service.post('/auth/check-token', { body: { token } })],
    ];
    // bytes of a header as Node reads them: no client can send control characters, nor blanks
    // around the whole
    const raw = Buffer.from(token).toString('latin1');
    if (!/^[\x21-\x7e\x80-\xff]+([ \t]+[\x21-\x7e\x80-\xff]+)*$/.test(raw)) return answers;
    const older = { headers: { 'x-auth-token': raw } };
    answers.push(['GET /user, X-Auth-Token', await service.get('/user', older)]);
    answers.push(['check-token, X-Auth-Token', await service.post('/auth/check-token', { ...older, body: {} })]);
    // with a blank it is no Bearer token any more, but none at all
    if (/[\s\xa0]/.test(raw)) return answers;
    answers.push(['GET /user, Bearer', await service.get('/user', { token: raw })]);
    answers.push(['check-token, Bearer', await service.post('/auth/check-token', { token: raw, body: {} })]);
    return answers;
  }
}

/** How many ways there are to give a token. */
const ways = 5;

/**
 * Texts that are too long, or have control characters, are no tokens at all: the field is refused
 * before (400).
 */
function isRefusedField({ status, body }: TestAnswer): boolean {
  return status === 400 && body.errors?.[0]?.pointer === '/token';
}
