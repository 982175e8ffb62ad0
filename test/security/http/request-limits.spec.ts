import { refreshTokenForm, cookieName, cookieOf, sameOrigin } from '../../support/cookies';
import { TestService, type TestAnswer } from '../../support/service';

const many = (count: number, part: (index: number) => string) => Array.from({ length: count }, (_, i) => part(i));
const fields = (count: number) => Object.fromEntries(many(count, (index) => `field${index}`).map((name) => [name, 1]));
const bytesMax = 8_192;

describe('requests of the largest size', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ PUBLIC_URL: 'http://localhost:3000', TRUST_PROXY: '127.0.0.0/8' });
  });
  afterAll(() => service.close());
  afterEach(() => jest.restoreAllMocks());

  /** Returns a response, and how many texts with escapes the service decoded meanwhile. */
  async function decoding(send: () => Promise<TestAnswer>): Promise<TestAnswer & { decoded: number }> {
    const decode = jest.spyOn(globalThis, 'decodeURIComponent');
    const answer = await send();
    // ajv decodes the media type of the response.
    return { ...answer, decoded: decode.mock.calls.filter(([text]) => /%(?!2Bjson)/.test(text)).length };
  }

  it.each([
    ['a public route', 'GET', '/health/live'],
    ['a token check', 'POST', '/auth/check-token'],
    ['a list', 'GET', '/user/list'],
  ])('rejects 201 query parameters before it decodes one: %s (H30)', async (_kind, method, path) => {
    for (const part of ['%', 'a=%ff', 'q=1']) {
      const answer = await decoding(() =>
        service.send(method, `${path}?${many(201, () => part).join('&')}`, { token: service.admin.token }),
      );
      const error = { code: 'parameter.too_many', detail: 'the query must have at most 200 parameters' };
      expect(answer).toMatchObject({ status: 400, decoded: 0, body: { code: 'request.invalid', errors: [error] } });
    }
  });

  it.each([
    ['%z', 'parameter.malformed', 200],
    ['a', 'parameter.unknown', 200],
  ])('names 20 of 200 wrong query parameters "%s…" and counts the others (H30)', async (start, code, count) => {
    const query = many(count, (index) => `${start}${index}z`).join('&');
    const answer = await service.get(`/health/live?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { errors_omitted: count - 20 } });
    expect(answer.body.errors.map((error: { code: string }) => error.code)).toEqual(many(20, () => code));
    expect(answer.text.length).toBeLessThan(bytesMax);
  });

  it('decodes each part of a query once (H30)', async () => {
    const { status, decoded } = await decoding(() =>
      service.get(`/user/list?${many(10, (index) => `attributes.k${index}=%C3%A4`).join('&')}`, {
        token: service.admin.token,
      }),
    );
    expect([status, decoded]).toEqual([400, 10]);
  });

  it.each([
    ['a token check', '/auth/check-token'],
    ['a login', '/auth/login'],
  ])('names 20 of 200 unknown fields, and rejects more without naming them: %s (H30)', async (_kind, path) => {
    const named = await service.post(path, { body: fields(200) });
    expect(named).toMatchObject({ status: 400, body: { errors_omitted: expect.any(Number) } });
    expect([named.body.errors.length, named.body.errors_omitted >= 180]).toEqual([20, true]);
    for (const [count, most] of [
      [201, '200 fields'],
      [3_000, '2500 keys'],
    ] as const) {
      const { status, body } = await service.post(path, { body: fields(count) });
      const error = { pointer: '', code: 'field.too_many', detail: `must have at most ${most}` };
      expect([status, body.errors, body.errors_omitted]).toEqual([400, [error], undefined]);
    }
  });

  it.each([
    ['a route without a token', 401, 'POST', '/user/create', {}],
    ['a route with an invalid token', 401, 'POST', '/role/create', { token: 'none of ours' }],
    ['an unknown path', 404, 'POST', '/nothing/here', {}],
    ['a wrong method', 405, 'PATCH', '/auth/login', {}],
  ])(
    'does not parse the body of a request that is rejected anyway: %s (H30)',
    async (_kind, status, method, path, own) => {
      const body = fields(3_000);
      const parse = jest.spyOn(JSON, 'parse');
      const answer = await service.send(method, path, { ...own, body });
      const parsed = parse.mock.calls.filter(([text]) => text.includes('field2999'));
      expect([answer.status, parsed]).toEqual([status, []]);
    },
  );

  it('does not parse a public request with thousands of fields (H30)', async () => {
    const parse = jest.spyOn(JSON, 'parse');
    const { status } = await service.post('/auth/check-token', { body: fields(3_000) });
    const parsed = parse.mock.calls.filter(([text]) => text.includes('field2999'));
    expect([status, parsed]).toEqual([400, []]);
  });

  it('counts the keys of attributes separately from the fields of a body (H30)', async () => {
    const { user_id } = await service.createUser();
    const { status, body } = await service.patch(`/user/${user_id}`, {
      token: service.admin.token,
      body: { attributes: fields(201) },
    });
    expect([status, body.errors]).toEqual([
      400,
      [expect.objectContaining({ pointer: '/attributes', code: 'field.too_many' })],
    ]);
  });

  it('rejects forms with more than 200 fields before it decodes one (H30)', async () => {
    const form = many(201, (index) => `field${index}=%C3%A4`).join('&');
    const decode = jest.spyOn(URLSearchParams.prototype, Symbol.iterator);
    const { status, body } = await service.post('/auth/introspect', {
      token: service.admin.token,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form,
    });
    expect([status, body.errors[0].code, decode.mock.calls.length]).toEqual([400, 'field.too_many', 0]);
  });

  it('decodes no cookie but its own (H30)', async () => {
    const login = await service.post('/auth/login', {
      headers: sameOrigin,
      body: { login: 'admin@example.com', password: 'correct horse battery staple', transport: 'cookie' },
    });
    const own = cookieOf(login);
    expect(own).toMatch(refreshTokenForm);
    const cookie = `${'a=%;'.repeat(10_000)} ${cookieName}=${own}`;
    const { status, decoded } = await decoding(() =>
      service.post('/auth/check-token', { headers: { ...sameOrigin, cookie }, body: { transport: 'cookie' } }),
    );
    expect([status, decoded]).toEqual([200, 0]);
  });

  it('reads only the end of a long list of proxies (H30)', async () => {
    const ipOf = async (forwarded: string) => {
      const { name } = await service.createUser();
      const login = await service.post('/auth/login', {
        headers: { 'x-forwarded-for': forwarded },
        body: { login: name, password: 'correct horse battery staple' },
        ip: '127.0.0.1',
      });
      const { body } = await service.get('/auth/session/list', { token: login.body.access_token });
      return body.items[0].ip;
    };
    const proxies = (count: number) => many(count, () => '127.0.0.9').join(', ');
    expect(await ipOf(`203.0.113.9, ${proxies(3)}`)).toBe('203.0.113.9');
    expect(await ipOf(`${proxies(5_000)}, 203.0.113.9, ${proxies(3)}`)).toBe('203.0.113.9');
    expect(await ipOf(`203.0.113.9, ${proxies(5_000)}`)).toBe('127.0.0.9');
  });
});
