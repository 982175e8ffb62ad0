import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { TestService } from '../../support/service';
import { markDriverFault } from '../../../src/common/errors/database-error';
import { SigningKeysRepository } from '../../../src/signing-keys/signing-keys.repository';
import { decode, forge, ownKey } from '../../support/tokens';

jest.setTimeout(180_000);

/** Returns a token with a plausible header and an unknown key. */
function forgedKid(claims: object): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return forge({ alg: 'ES256', typ: 'at+jwt', kid: randomBytes(32).toString('base64url') }, claims, privateKey);
}

describe('signing keys and their ids', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());
  afterEach(() => jest.restoreAllMocks());

  /** Stops the monotonic clock of the service, and returns a function that advances it. */
  function stopClock(): (ms: number) => void {
    let now = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    return (ms) => (now += ms);
  }

  it('loads the keys at most once a second for unknown ids, and never for malformed headers (J5)', async () => {
    const loads = jest.spyOn(service.app.get(SigningKeysRepository), 'list');
    const claims = decode(service.admin.token);
    const pass = stopClock();
    for (let second = 1; second <= 3; second++) {
      pass(1_000);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => {
          const token = forgedKid(claims);
          return index % 2 === 0
            ? service.get('/user', { token })
            : service.post('/auth/check-token', { body: { token } });
        }),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
      expect(loads).toHaveBeenCalledTimes(second);
    }
    pass(1_000);
    loads.mockClear();
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const header = { alg: 'ES256', typ: 'at+jwt', kid: randomBytes(32).toString('base64url') };
    const strange = [
      { ...header, alg: 'none' },
      { ...header, typ: 'JWT' },
      { ...header, kid: 'x' },
      { ...header, jku: 'http://127.0.0.1' },
      'garbage',
      '',
    ];
    for (const other of strange)
      expect((await service.get('/user', { token: forge(other, claims, privateKey) })).status).toBe(401);
    expect((await service.get('/user', { token: 'garbage' })).status).toBe(401);
    expect(loads).not.toHaveBeenCalled();
  });

  it('responds with a database error, not an invalid token, when keys cannot be loaded', async () => {
    const failure = markDriverFault(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
    const pass = stopClock();
    for (const ask of [
      (token: string) => service.get('/user', { token }),
      (token: string) => service.post('/auth/check-token', { body: { token } }),
    ]) {
      pass(10_000);
      const list = jest.spyOn(service.app.get(SigningKeysRepository), 'list').mockRejectedValueOnce(failure);
      const { status, body } = await ask(forgedKid(decode(service.admin.token)));
      expect([status, body.code, list.mock.calls.length]).toEqual([503, 'service.database_unavailable', 1]);
      list.mockRestore();
    }
  });

  it('stores private keys encrypted', async () => {
    const [row] = await service.rows<{ everything: string; private_key: Buffer }>(
      'select private_key, signing_keys::text as everything from signing_keys',
    );
    const { key } = ownKey(service);
    const { d = '' } = key.export({ format: 'jwk' });
    const der = key.export({ format: 'der', type: 'pkcs8' });
    expect(row!.private_key.includes(Buffer.from(d, 'base64url'))).toBe(false);
    expect(row!.private_key.includes(der.subarray(0, 26))).toBe(false);
    for (const text of [d, Buffer.from(d, 'base64url').toString('hex'), der.toString('base64')])
      expect(row!.everything).not.toContain(text);
  });
});
