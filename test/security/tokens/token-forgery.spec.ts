import { connect } from 'node:net';
import { claimForgeries } from '../../support/forgeries/claims';
import { formForgeries } from '../../support/forgeries/forms';
import { headerForgeries } from '../../support/forgeries/headers';
import { keyForgeries } from '../../support/forgeries/keys';
import { bytesOf, numbersOf, order, signatureForgeries } from '../../support/forgeries/signatures';
import { TestService } from '../../support/service';
import { TokenForger } from '../../support/token-forger';
import { encode, forge } from '../../support/tokens';

/**
 * Minimum number of different forgeries, after Wycheproof's vectors and the playbook of jwt_tool.
 */
const atLeast = 400;

describe('forged access tokens', () => {
  let service: TestService;
  let forger: TokenForger;

  beforeAll(async () => {
    service = await TestService.start();
    forger = await TokenForger.make(service);
  });
  afterAll(async () => {
    forger.close();
    await service.close();
  });

  it.each([...signatureForgeries, ...headerForgeries, ...keyForgeries, ...formForgeries, ...claimForgeries])(
    '%s',
    async (_attack, make) => {
      await forger.assertRefused(await make(forger));
    },
  );

  it('treats the second ECDSA signature of a token as the same token, which ends with it (J2)', async () => {
    const user = await service.loginAs();
    const [head, payload, signature = ''] = user.token.split('.');
    const [r, s] = numbersOf(signature);
    const twin = `${head}.${payload}.${encode(Buffer.concat([bytesOf(r), bytesOf(order - s)]))}`;
    const ask = async (token: string) => [
      (await service.get('/user', { token })).body.user_id ?? 401,
      (await service.post('/auth/check-token', { body: { token } })).body.user?.user_id ?? 401,
    ];
    // RFC 7515 does not restrict s, and half of the genuine signatures have the larger value.
    for (const token of [twin, user.token, twin]) expect(await ask(token)).toEqual([user.user_id, user.user_id]);
    await service.post('/auth/logout', { token: user.token, body: {} });
    for (const token of [twin, user.token]) expect(await ask(token)).toEqual([401, 401]);
  });

  it('rejects huge tokens quickly, beyond 64 KiB by the header limit (J17)', async () => {
    const { port } = await service.listen();
    for (const length of [100_000, 1_000_000]) {
      const began = performance.now();
      const answer = await raw(
        port,
        `GET /user HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${'A'.repeat(length)}\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 431 /);
      expect(performance.now() - began).toBeLessThan(2_000);
    }
    await forger.assertGood(forger.user.token);
  });

  it(`responds alike to at least ${atLeast} forged tokens (J22)`, () => {
    process.stdout.write(`forged tokens: ${forger.refused.size} different, each refused in 5 ways with the same 401\n`);
    expect(forger.refused.size).toBeGreaterThanOrEqual(atLeast);
  });

  it('calls no URL that a token names (J6)', async () => {
    expect(forger.called).toBe(0);
    // Control: the address accepts connections.
    await fetch(forger.url).catch(() => undefined);
    expect(forger.called).toBe(1);
    await forger.assertGood(forge(forger.header, forger.claims, forger.key));
  });
});

/** Returns what a socket receives before it is closed. */
function raw(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });
}
