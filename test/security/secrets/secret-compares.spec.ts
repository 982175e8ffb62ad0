import * as crypto from 'node:crypto';
import { Client } from 'pg';
import { mailedResetToken } from '../../support/links';
import { password, type TestLogin, TestService } from '../../support/service';

// The real function, with its calls recorded.
jest.mock('node:crypto', () => {
  const real = jest.requireActual<typeof crypto>('node:crypto');
  return { ...real, timingSafeEqual: jest.fn(real.timingSafeEqual) };
});
const compared = jest.mocked(crypto.timingSafeEqual).mock.calls;
const statements = jest.spyOn(Client.prototype, 'query').mock.calls;

type User = TestLogin & { name: string; email: string };

/** Returns the parameters of all sent statements as bytes. */
function sentValues(): Buffer[] {
  return statements.flatMap((call) => {
    const [statement, listed] = call as unknown as [{ values?: unknown[] } | string, unknown];
    const values = typeof statement === 'string' ? listed : (statement.values ?? listed);
    return Array.isArray(values)
      ? values.flat().map((value) => (Buffer.isBuffer(value) ? value : Buffer.from(String(value))))
      : [];
  });
}

/** Returns a secret with one wrong character: at `from`, in the middle, or near the end. */
function wrongOnes(secret: string, from: number): string[] {
  const places = [from, from + Math.floor((secret.length - from) / 2), secret.length - 2];
  return places.map((at) => secret.slice(0, at) + (secret[at] === 'A' ? 'B' : 'A') + secret.slice(at + 1));
}

describe('comparisons of secrets', () => {
  let service: TestService;
  let user: User;

  beforeAll(async () => {
    service = await TestService.start();
    user = await service.loginAs();
  });
  afterAll(() => service.close());

  const hashOf = (secret: string) => crypto.createHash('sha256').update(secret).digest();

  it.each<[kind: string, make: () => Promise<string>, use: (secret: string) => Promise<{ status: number }>]>([
    [
      'a reset link that is opened',
      () => mailedResetToken(service, user.email),
      (secret) => service.get(`/auth/reset/${secret}`),
    ],
    [
      'a reset link that is used',
      () => mailedResetToken(service, user.email),
      (secret) => service.post(`/auth/reset/${secret}`, { body: { password } }),
    ],
    [
      'a link that confirms an e-mail address',
      async () => {
        const { email, token } = await service.loginAs();
        await service.post('/auth/email', { token, body: { email: `new-${email}`, current_password: password } });
        return (await service.mailbox.take(`new-${email}`)).token ?? '';
      },
      (secret) => service.post(`/auth/email/${secret}`),
    ],
    [
      'an API key',
      async () => {
        const body = {
          name: 'reader',
          permissions: ['user:read'],
          expires_at: new Date(Date.now() + 86_400_000).toISOString(),
        };
        return (await service.post('/auth/key/create', { token: service.admin.token, body })).body.key;
      },
      (secret) => service.get('/user/list', { token: secret }),
    ],
    [
      'a refresh token',
      async () => (await service.loginAs()).refresh_token,
      (secret) => service.post('/auth/check-token', { body: { refresh_token: secret } }),
    ],
  ])('looks up %s by its SHA-256 and never sends the secret to the database (O15)', async (_kind, make, use) => {
    const secret = await make();
    statements.length = 0;
    expect((await use(secret)).status).toBeLessThan(300);
    const values = sentValues();
    expect(values.some((value) => value.equals(hashOf(secret)))).toBe(true);
    const bytes = Buffer.from(secret.replace(/^cik_/, ''), 'base64url');
    expect(values.filter((value) => value.includes(secret) || value.includes(bytes))).toEqual([]);
  });

  it('compares the code of a refresh token in constant time, whichever character is wrong (O15)', async () => {
    const { refresh_token } = await service.login(user.name);
    // The first 64 characters contain the session id and the secret.
    for (const wrong of wrongOnes(refresh_token, 64)) {
      compared.length = 0;
      expect((await service.post('/auth/check-token', { body: { refresh_token: wrong } })).status).toBe(401);
      expect(compared.map(([given, expected]) => [given.byteLength, expected.byteLength])).toEqual([[16, 16]]);
    }
    expect((await service.post('/auth/check-token', { body: { refresh_token } })).status).toBe(200);
  });

  it('compares the signatures of cursors and confirm tokens in constant time (O15)', async () => {
    const { token } = service.admin;
    const cursor = (await service.get('/user/list?per_page=1', { token })).body.next_cursor as string;
    const { confirm_token } = (await service.delete(`/user/all?user_id=${user.user_id}&dry_run=true`, { token })).body;
    for (const [signed, use] of [
      [cursor, (text: string) => service.get(`/user/list?per_page=1&cursor=${text}`, { token })],
      [
        confirm_token as string,
        (text: string) => service.delete(`/user/all?user_id=${user.user_id}&confirm_token=${text}`, { token }),
      ],
    ] as const)
      for (const wrong of wrongOnes(signed, signed.indexOf('.') + 1)) {
        compared.length = 0;
        expect((await use(wrong)).status).toBe(400);
        expect(compared.map(([given, expected]) => [given.byteLength, expected.byteLength])).toEqual([[16, 16]]);
      }
    expect((await service.get(`/user/list?per_page=1&cursor=${cursor}`, { token })).status).toBe(200);
  });

  it('compares an imported PBKDF2 or scrypt hash in constant time (O15)', async () => {
    const salt = Buffer.alloc(16, 1);
    const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
    for (const hash of [
      `$pbkdf2-sha256$i=1000,l=32$${text(salt)}$${text(crypto.pbkdf2Sync(password, salt, 1_000, 32, 'sha256'))}`,
      `$scrypt$ln=10,r=8,p=1$${text(salt)}$${text(crypto.scryptSync(password, salt, 32, { N: 1_024, r: 8, p: 1 }))}`,
    ]) {
      const { user_id, name } = await service.createUser();
      await service.rows('update credentials set password_hash = $2 where user_id = $1', [user_id, hash]);
      compared.length = 0;
      expect((await service.post('/auth/login', { body: { login: name, password: `${password}!` } })).status).toBe(401);
      expect((await service.post('/auth/login', { body: { login: name, password } })).status).toBe(200);
      const lengths = compared.map(([given, expected]) => [given.byteLength, expected.byteLength]);
      expect(lengths).toEqual([
        [32, 32],
        [32, 32],
      ]);
    }
  });
});
