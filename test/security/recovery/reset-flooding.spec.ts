import { CredentialsService } from '../../../src/credentials/credentials.service';
import { mailedResetToken, queueEmpty, visibleResponse } from '../../support/links';
import { password, type TestAnswer, TestService } from '../../support/service';

const minuteMax = 30;
const requestsMax = 60;
const rounds = 50;
const tokens = 1_000;
/** χ² with 63 degrees of freedom exceeds this value with a probability of 10⁻⁷. */
const chiSquareMax = 140.1;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Spellings of the same address, in upper and lower case and with spaces. */
function variantsOf(email: string): string[] {
  const at = email.indexOf('@');
  const [local, domain] = [email.slice(0, at), email.slice(at)];
  const forms = [
    email,
    email.toUpperCase(),
    local.toUpperCase() + domain,
    local + domain.toUpperCase(),
    `${email[0]?.toUpperCase()}${email.slice(1)}`,
  ];
  const spaced = forms.flatMap((form) => [form, ` ${form}`, `${form} `, `\t${form}\n`, `  ${form}  `]);
  return Array.from({ length: rounds }, (_, index) => spaced[index % spaced.length] ?? email);
}

/** Returns Pearson's χ² of the symbols of texts against a uniform distribution. */
function chiSquare(texts: string[]): number {
  const counts = new Map([...alphabet].map((symbol) => [symbol, 0]));
  for (const symbol of texts.join('')) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  const expected = texts.join('').length / alphabet.length;
  return [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

describe('flooding and guessing of reset links', () => {
  let service: TestService;
  let addresses = 0;

  beforeAll(async () => {
    service = await TestService.start({
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: String(minuteMax),
      REQUESTS_PER_ADDRESS_PER_MINUTE: String(requestsMax),
    });
  });
  afterAll(() => service.close());

  /** Returns an unused client address. */
  const anotherClient = () => `198.51.100.${++addresses}`;

  async function askForAll(email: string, clientOf: () => string): Promise<TestAnswer[]> {
    const answers: TestAnswer[] = [];
    for (const variant of variantsOf(email))
      answers.push(await service.post('/auth/reset_email', { body: { email: variant }, ip: clientOf() }));
    return answers;
  }

  it.each([
    ['each from another client', () => anotherClient, Array<number>(rounds).fill(202)],
    [
      'all from one client',
      () => {
        const client = anotherClient();
        return () => client;
      },
      [...Array<number>(minuteMax).fill(202), ...Array<number>(rounds - minuteMax).fill(429)],
    ],
  ])(
    'mails one link for 50 requests in any spelling, %s, and responds to an unknown address alike (R7)',
    async (_title, clients, wanted) => {
      const { email } = await service.createUser();
      const known = await askForAll(email, clients());
      const unknown = await askForAll('unknown@example.com', clients());
      expect(known.map(({ status }) => status)).toEqual(wanted);
      expect(unknown.map(({ status }) => status)).toEqual(wanted);
      expect(known.slice(0, minuteMax).map(visibleResponse)).toEqual(unknown.slice(0, minuteMax).map(visibleResponse));
      await queueEmpty(service);
      expect(service.mailbox.mails.splice(0).map(({ to }) => to)).toEqual([[email]]);
    },
  );

  it('mints 1,000 tokens of 43 characters without a repetition, a shared prefix or a bias (R8)', async () => {
    const { user_id, email } = await service.createUser();
    const credentials = service.app.get(CredentialsService);
    const minted: string[] = [];
    while (minted.length < tokens) minted.push((await credentials.mintToken(user_id, 'reset', email)) ?? '');
    expect(minted.filter((token) => !/^[A-Za-z0-9_-]{43}$/.test(token))).toEqual([]);
    expect(new Set(minted.map((token) => token.slice(0, 8))).size).toBe(tokens);
    expect(new Set(minted.map((token) => token.slice(-8))).size).toBe(tokens);
    // The last of 43 characters holds only four bits.
    expect(chiSquare(minted.map((token) => token.slice(0, 42)))).toBeLessThan(chiSquareMax);
    // The statistic rejects texts with less randomness: UUIDs, in hexadecimal and as bytes.
    const ids = Array.from({ length: tokens }, () => crypto.randomUUID());
    expect(chiSquare(ids.map((id) => id.replaceAll('-', '')))).toBeGreaterThan(chiSquareMax);
    expect(
      chiSquare(ids.map((id) => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url').slice(0, 21))),
    ).toBeGreaterThan(chiSquareMax);
  });

  it('responds to malformed, unknown, used, replaced and expired tokens alike (R8)', async () => {
    const { email } = await service.createUser();
    const replaced = await mailedResetToken(service, email);
    const used = await mailedResetToken(service, email);
    const body = { password: `${password} again` };
    expect((await service.post(`/auth/reset/${used}`, { body })).status).toBe(204);
    const expired = await mailedResetToken(service, email);
    await service.rows(`update one_time_tokens set expires_at = now() - interval '1 second'`);
    for (const send of [
      (token: string) => service.get(`/auth/reset/${token}`, { ip: anotherClient() }),
      (token: string) => service.post(`/auth/reset/${token}`, { body, ip: anotherClient() }),
    ]) {
      const unknown = await send('A'.repeat(43));
      expect([unknown.status, unknown.body.code]).toEqual([404, 'reset.token_invalid']);
      for (const token of [replaced, used, expired, 'x', 'A'.repeat(42), 'A'.repeat(500), 'null', '0'])
        expect([token, visibleResponse(await send(token))]).toEqual([token, visibleResponse(unknown)]);
    }
  });

  it('rejects guesses beyond the limit of a client address, but none of other addresses (R8)', async () => {
    const { email } = await service.createUser();
    const token = await mailedResetToken(service, email);
    const body = { password: `${password} again` };
    const guess = (method: string, text: string, ip: string) =>
      service.send(method, `/auth/reset/${text}`, method === 'GET' ? { ip } : { ip, body });
    for (const [method, max] of [
      ['POST', minuteMax],
      ['GET', requestsMax],
    ] as const) {
      const ip = anotherClient();
      const answers: TestAnswer[] = [];
      for (let index = 0; index < 100; index++) answers.push(await guess(method, String(index).padStart(43, 'A'), ip));
      expect(answers.map(({ status }) => status)).toEqual([
        ...Array<number>(max).fill(404),
        ...Array<number>(100 - max).fill(429),
      ]);
      expect(answers.at(-1)?.headers).toMatchObject({
        'retry-after': expect.stringMatching(/^\d+$/),
        'ratelimit-policy': expect.any(String),
      });
      // The right token gets the same response.
      expect((await guess(method, token, ip)).status).toBe(429);
    }
    expect((await guess('GET', token, anotherClient())).status).toBe(200);
    expect((await guess('POST', token, anotherClient())).status).toBe(204);
  });
});
