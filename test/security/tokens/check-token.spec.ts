import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { SigningKeyRotation } from '../../../src/signing-keys/signing-key-rotation.service';
import { SigningKeysService } from '../../../src/signing-keys/signing-keys.service';
import { TestService } from '../../support/service';
import { decode, forge, ownKey, visiblePart } from '../../support/tokens';

const perMinute = 30;

describe('check-token', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ REQUESTS_PER_ADDRESS_PER_MINUTE: String(perMinute) });
  });
  afterAll(() => service.close());

  it('responds alike to every kind of bad token (S14)', async () => {
    const { key, header } = ownKey(service);
    const by = { token: service.admin.token };
    const [ended, disabled, reused, live] = [
      await service.loginAs(),
      await service.loginAs(),
      await service.loginAs(),
      await service.loginAs(),
    ];
    await service.delete(`/auth/session/${ended.session_id}`, by);
    await service.patch(`/user/${disabled.user_id}`, { ...by, body: { status: 'disabled' } });
    await service.post('/auth/check-token', { body: { refresh_token: reused.refresh_token } });
    await service.rows(`update sessions set refreshed_at = now() - interval '1 hour' where session_id = $1`, [
      reused.session_id,
    ]);
    const access = [
      ...[ended.token, disabled.token, 'garbage', `${live.token}x`, live.refresh_token],
      ...[
        forge(header, { ...decode(live.token), exp: 2, iat: 1 }, key),
        forge(header, { ...decode(live.token), sub: ended.user_id }, key),
      ],
    ];
    const refresh = [
      ended.refresh_token,
      disabled.refresh_token,
      reused.refresh_token,
      'garbage',
      randomBytes(64).toString('base64url'),
    ];
    const requests = [
      ...access.map((token) => ({ body: { token } })),
      ...access.map((token) => ({ token, body: {} })),
      ...refresh.map((refresh_token) => ({ body: { refresh_token } })),
      { token: service.admin.token, body: { refresh_token: live.refresh_token } },
      // Of the wrong type, or far too long.
      ...[live.token, 'a'.repeat(60_000)].map((refresh_token) => ({ body: { refresh_token } })),
      ...[`${live.token}${'a'.repeat(60_000)}`].flatMap((token) => [{ body: { token } }, { token, body: {} }]),
    ];
    const seen = new Set<string>();
    for (const request of requests) {
      const answer = await service.post('/auth/check-token', { ...request, ip: '192.0.2.14' });
      seen.add(JSON.stringify(visiblePart(answer)));
      for (const hidden of [live, ended, disabled]) expect(answer.text).not.toContain(hidden.user_id);
    }
    expect([...seen]).toEqual([expect.stringContaining('"code":"auth.token_invalid"')]);
    expect((await service.post('/auth/check-token', { body: { token: live.token } })).status).toBe(200);
  });

  it.each([
    ['token', (text: string) => service.post('/auth/check-token', { body: { token: text }, ip: '192.0.2.1' })],
    [
      'refresh token',
      (text: string) => service.post('/auth/check-token', { body: { refresh_token: text }, ip: '192.0.2.2' }),
    ],
    [
      'token in the header',
      (text: string) => service.post('/auth/check-token', { token: text, body: {}, ip: '192.0.2.3' }),
    ],
    ['logout by token', (text: string) => service.post('/auth/logout', { token: text, body: {}, ip: '192.0.2.4' })],
    [
      'logout by refresh token',
      (text: string) => service.post('/auth/logout', { body: { refresh_token: text }, ip: '192.0.2.5' }),
    ],
    ['any route', (text: string) => service.get('/user', { token: text, ip: '192.0.2.6' })],
  ])('limits guesses per address: %s (S15)', async (_way, guess) => {
    const answers = [];
    for (let index = 0; index < perMinute + 10; index++)
      answers.push(await guess(randomBytes(64).toString('base64url')));
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toEqual([...Array<number>(perMinute).fill(401), ...Array<number>(10).fill(429)]);
    const refused = answers.at(-1);
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused?.headers).toMatchObject({
      'ratelimit-policy': expect.stringContaining(`q=${perMinute};w=60`),
      ratelimit: expect.any(String),
    });
    expect(refused?.body.code).toBe('request.rate_limited');
  });

  it('accepts valid tokens from a limited address without counting them (S15)', async () => {
    const ip = '192.0.2.1';
    expect((await service.post('/auth/check-token', { body: { token: 'guess' }, ip })).status).toBe(429);
    const user = await service.loginAs();
    for (let index = 0; index < perMinute + 10; index++) {
      expect((await service.post('/auth/check-token', { body: { token: user.token }, ip })).status).toBe(200);
    }
    const { body, status } = await service.post('/auth/check-token', {
      body: { refresh_token: user.refresh_token },
      ip,
    });
    expect(status).toBe(200);
    expect((await service.post('/auth/logout', { token: body.access_token, body: {}, ip })).status).toBe(204);
  });

  describe('an access token beside a valid refresh token', () => {
    const refresh = (token: string | undefined, refresh_token: string) =>
      service.post('/auth/check-token', {
        ...(token === undefined ? {} : { token }),
        body: { refresh_token },
        ip: '192.0.2.99',
      });
    const sessionRow = async (session_id: string) =>
      (
        await service.rows<{ row: string }>(
          `select to_jsonb(sessions)::text as row from sessions where session_id = $1`,
          [session_id],
        )
      )[0];

    it('rejects a token with an unknown kid, and rotates nothing (J5)', async () => {
      const { token, refresh_token, session_id } = await service.loginAs();
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const header = { alg: 'ES256', typ: 'at+jwt', kid: randomBytes(32).toString('base64url') };
      const claims = decode(token);
      const before = await sessionRow(session_id);
      for (const forged of [
        forge(header, claims, privateKey),
        forge(header, { ...claims, exp: 2, iat: 1 }, privateKey),
      ]) {
        const { status, body } = await refresh(forged, refresh_token);
        expect([status, body.code]).toEqual([401, 'auth.token_invalid']);
      }
      expect(await sessionRow(session_id)).toEqual(before);
      expect((await refresh(undefined, refresh_token)).status).toBe(200);
    });

    it('accepts a token of a key retired by a rotation, and rejects it once the key is revoked (J20)', async () => {
      const keys = service.app.get(SigningKeysService);
      const { token, refresh_token } = await service.loginAs();
      const kid = decode(token, 0)['kid'];
      const published = () => keys.publicKeySet().keys.map((key) => key['kid']);
      await service.app.get(SigningKeyRotation).rotate({ now: true });
      await service.rows(`update signing_keys set signs_from = signs_from - interval '1 day'`);
      await keys.reload();
      expect(published()).not.toContain(kid);
      expect((await service.get('/user', { token })).status).toBe(401);
      const refreshed = await refresh(token, refresh_token);
      expect(refreshed.status).toBe(200);
      await service.app.get(SigningKeyRotation).rotate({ revoke: true });
      await keys.reload();
      expect((await refresh(token, refreshed.body.refresh_token as string)).status).toBe(401);
      expect((await refresh(undefined, refreshed.body.refresh_token as string)).status).toBe(200);
    });
  });
});
