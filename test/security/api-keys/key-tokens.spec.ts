import { createHash, randomBytes } from 'node:crypto';
import { createKey, inSeconds } from '../../support/keys';
import { until } from '../../support/until';
import { type TestAnswer, TestService } from '../../support/service';
import { tableNames } from '../../support/tables';
import { visiblePart } from '../../support/tokens';

const perMinute = 30;

describe('API keys as tokens', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ REQUESTS_PER_ADDRESS_PER_MINUTE: String(perMinute) });
  });
  afterAll(() => service.close());

  const code = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();

  it('rejects an API key at check-token and logout like any other bad token (J8)', async () => {
    const { key } = await createKey(service, ['*']);
    for (const request of [{ body: { token: key } }, { token: key, body: {} }, { body: { refresh_token: key } }]) {
      const bad = JSON.parse(JSON.stringify(request).replaceAll(key, 'garbage')) as typeof request;
      const [answer, other] = [
        await service.post('/auth/check-token', request),
        await service.post('/auth/check-token', bad),
      ];
      expect(visiblePart(answer)).toEqual(visiblePart(other));
      expect(code(answer)).toBe('401 auth.token_invalid');
    }
    expect(code(await service.post('/auth/logout', { token: key, body: {} }))).toBe('401 auth.token_invalid');
    expect(code(await service.post('/auth/logout', { body: { refresh_token: key } }))).toBe('401 auth.token_invalid');
    expect((await service.get('/user/list', { token: key })).status).toBe(200);
  });
  it('responds with auth.key_invalid to an unknown, expired or revoked API key, in either header (J22)', async () => {
    const [expired, revoked] = [await createKey(service, ['*']), await createKey(service, ['*'])];
    await service.rows('update keys set expires_at = now() where key_id = $1', [expired.key_id]);
    expect((await service.delete(`/auth/key/${revoked.key_id}`, { token: service.admin.token })).status).toBe(204);
    const unknown = `cik_${randomBytes(32).toString('base64url')}`;
    for (const key of [expired.key, revoked.key, unknown])
      for (const answer of [
        await service.get('/user/list', { token: key, ip: '192.0.2.8' }),
        await service.get('/user/list', { headers: { 'x-auth-token': key }, ip: '192.0.2.8' }),
      ]) {
        expect(code(answer)).toBe('401 auth.key_invalid');
        expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
        expect(answer.text).not.toContain('Log in again');
      }
  });

  it('responds alike to anything that looks like an API key, in any header (J22)', async () => {
    const { key } = await createKey(service, ['*']);
    const answerTo = async (token: string) => visiblePart(await service.get('/user/list', { token, ip: '192.0.2.9' }));
    const wanted = { key: await answerTo('cik_garbage'), token: await answerTo('garbage') };
    const secret = key.slice(4);
    const last = key.at(-1) ?? '';
    const hash = createHash('sha256').update(key).digest();
    const forms = [
      ...[
        'cik_',
        'cik_garbage',
        `cik_${randomBytes(32).toString('base64url')}`,
        `cik_${'A'.repeat(43)}`,
        secret,
        `CIK_${secret}`,
        `cik-${secret}`,
      ],
      ...[
        `cik_cik_${secret}`,
        `${key}=`,
        `${key}x`,
        key.slice(0, -1),
        `${key.slice(0, -1)}${last === 'A' ? 'B' : 'A'}`,
        `${key}.${key}`,
        `cik_%00${secret}`,
      ],
      ...[
        `cik_${hash.toString('base64url')}`,
        `cik_${hash.toString('hex')}`,
        `cik_'or'1'='1`,
        `cik_${'A'.repeat(4_000)}`,
        key.toUpperCase(),
        key.toLowerCase(),
      ],
    ];
    for (const [index, form] of forms.entries()) {
      const ip = `198.51.100.${index + 1}`;
      for (const headers of [{ authorization: `Bearer ${form}` }, { 'x-auth-token': form }])
        expect([form, visiblePart(await service.get('/user/list', { headers: headers as never, ip }))]).toEqual([
          form,
          form.startsWith('cik_') ? wanted.key : wanted.token,
        ]);
    }
    expect((await service.get('/user/list', { token: key })).status).toBe(200);
  });

  it('limits guesses of API keys per address, but not valid keys (S15)', async () => {
    const statuses = [];
    for (let index = 0; index < perMinute + 5; index++)
      statuses.push(
        (await service.get('/user/list', { token: `cik_${randomBytes(32).toString('base64url')}`, ip: '203.0.113.7' }))
          .status,
      );
    expect(statuses).toEqual([...Array<number>(perMinute).fill(401), ...Array<number>(5).fill(429)]);
    const { key } = await createKey(service, ['user:read']);
    expect((await service.get('/user/list', { token: key, ip: '203.0.113.7' })).status).toBe(200);
  });

  it('accepts the same API key in both headers, and rejects a key beside anything else (J19)', async () => {
    const [one, two] = [await createKey(service, ['*']), await createKey(service, ['*'])];
    const both = async (bearer: string, older: string) =>
      code(
        await service.get('/user/list', {
          headers: { authorization: `Bearer ${bearer}`, 'x-auth-token': older },
          ip: '203.0.113.9',
        }),
      );
    expect(await both(one.key, one.key)).toBe('200');
    for (const [bearer, older] of [
      [one.key, two.key],
      [one.key, service.admin.token],
      [service.admin.token, one.key],
      [one.key, 'cik_x'],
      [one.key, ''],
    ] as const)
      expect(await both(bearer, older)).toBe('401 auth.token_invalid');
    for (const headers of [
      { authorization: `Basic ${one.key}` },
      { authorization: one.key },
      { cookie: `token=${one.key}` },
    ])
      expect((await service.get('/user/list', { headers: headers as never, ip: '203.0.113.9' })).status).toBe(401);
  });

  it('shows an API key only once, and never in tables, lists, events or errors (S22)', async () => {
    const { key, key_id } = await createKey(service, ['*']);
    const hash = createHash('sha256').update(key).digest();
    await service.get(`/user/list?q=${key}`, { token: key });
    await service.patch('/user/all?name=unknown', {
      token: key,
      body: { locale: 'de' },
      headers: { 'idempotency-key': key },
    });
    await until(
      async () =>
        (await service.rows('select 1 from keys where key_id = $1 and last_used_at is not null', [key_id])).length ===
        1,
    );
    const tables = await tableNames(service);
    expect(tables.length).toBeGreaterThan(8);
    for (const name of tables) {
      const found = await service.rows(`select 1 from ${name} as row where position($1 in row::text) > 0`, [
        key.slice(4),
      ]);
      const hashed = await service.rows(`select 1 from ${name} as row where position($1 in row::text) > 0`, [
        hash.toString('hex'),
      ]);
      expect([name, found.length, hashed.length]).toEqual([name, 0, name === 'public.keys' ? 1 : 0]);
    }
    const answers = [
      await service.get(`/auth/key/list?key_id=${key_id}`, { token: key }),
      await service.get(`/audit/list?target_id=${key_id}`, { token: key }),
      await service.get(`/user/list?${key}=1`, { token: key }),
      await service.post('/user/create', { token: key, body: { [key]: key, name: key } }),
      await service.delete(`/auth/key/${key}`, { token: key }),
      await service.post('/auth/key/create', {
        token: service.admin.token,
        body: { name: 'a', permissions: [key], expires_at: inSeconds(60) },
      }),
    ];
    // A response may repeat a field name or path that the caller sent.
    for (const { status, text } of answers.slice(0, 2)) {
      expect(status).toBe(200);
      for (const secret of [key, key.slice(4), hash.toString('hex'), hash.toString('base64'), 'token_hash'])
        expect(text).not.toContain(secret);
    }
    expect(answers.at(-1)?.text).not.toContain(key);
  });
});
