import type { KeyObject } from 'node:crypto';
import type { TestAnswer, TestLogin, TestService } from './service';
import { decode, forge, ownKey, visiblePart } from './tokens';

/** Tokens by what is wrong with them. */
export type Forgeries = Record<string, string>;

/** Makes forged tokens of a Carrier User, and sees that each is refused wherever a token can be given. */
export class TokenForger {
  /** the header of genuine tokens, and the service's own key */
  readonly header: Record<string, string>;
  readonly key: KeyObject;
  /** what the user's genuine token says */
  readonly claims: Record<string, unknown>;

  private constructor(
    private readonly service: TestService,
    readonly user: TestLogin,
    /** the one answer to every bad token */
    readonly refusal: object,
  ) {
    ({ header: this.header, key: this.key } = ownKey(service));
    this.claims = decode(user.token);
  }

  static async make(service: TestService): Promise<TokenForger> {
    const user = await service.loginAs({ roles: ['carrier_user'] });
    const refusal = visiblePart(await service.get('/user', { token: 'garbage' }));
    expect(refusal).toMatchObject({ status: 401, body: { code: 'auth.token_invalid' } });
    return new TokenForger(service, user, refusal);
  }

  /** The genuine token in its three parts. */
  get parts(): [string, string, string] {
    return this.user.token.split('.') as [string, string, string];
  }

  /** The genuine claims under other headers. */
  signedBy(key: KeyObject, headers: Record<string, unknown>): Forgeries {
    return Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, forge(header, this.claims, key)]));
  }

  /** Other claims under the genuine header, signed with the service's own key. */
  claiming(variants: Record<string, unknown>): Forgeries {
    return Object.fromEntries(Object.entries(variants).map(([name, claims]) => [name, forge(this.header, claims, this.key)]));
  }

  /** The genuine claims without one. */
  without(claim: string): Record<string, unknown> {
    return Object.fromEntries(Object.entries(this.claims).filter(([name]) => name !== claim));
  }

  /** Fails unless each gets the one refusal everywhere, without delay, while a token made in the same way, with nothing wrong, is taken. */
  async assertRefused(forgeries: Forgeries): Promise<void> {
    const wrong: string[] = [];
    for (const [name, token] of Object.entries(forgeries)) {
      const began = performance.now();
      for (const [way, answer] of await this.tryEverywhere(token)) {
        const same = JSON.stringify(visiblePart(answer)) === JSON.stringify(this.refusal);
        if (!same && !isRefusedField(answer)) wrong.push(`${name}, ${way}: ${answer.status} ${answer.text}`);
      }
      if (performance.now() - began > 2_000) wrong.push(`${name}: slow`);
    }
    expect(wrong).toEqual([]);
    expect((await this.service.get('/user', { token: forge(this.header, this.claims, this.key) })).status).toBe(200);
  }

  private async tryEverywhere(token: string): Promise<[string, TestAnswer][]> {
    const { service } = this;
    const answers: [string, TestAnswer][] = [['check-token', await service.post('/auth/check-token', { body: { token } })]];
    if (!/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(token)) return answers;
    answers.push(['X-Auth-Token', await service.get('/user', { headers: { 'x-auth-token': token } })]);
    if (token.includes(' ')) return answers;
    answers.push(['Bearer', await service.get('/user', { token })]);
    answers.push(['refresh', await service.post('/auth/check-token', { token, body: {} })]);
    return answers;
  }
}

/** Texts that are too long, or have control characters, are no tokens at all: the field is refused before (400). */
function isRefusedField({ status, body }: TestAnswer): boolean {
  return status === 400 && body.errors?.[0]?.pointer === '/token';
}
