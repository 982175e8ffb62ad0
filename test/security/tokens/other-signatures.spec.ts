import { VerifiedTokens } from '../../../src/auth/verified-tokens';
import { password, type TestAnswer, type TestLogin, TestService } from '../../support/service';
import { decode, forge, ownKey, withOtherSignature } from '../../support/tokens';

describe('the two valid signatures of a token', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ SESSIONS_PER_USER_MAX: '2' });
  });
  afterAll(() => service.close());

  /** Requests that return the user of a token, each with its own way to the caches. */
  const ways: ((token: string) => Promise<TestAnswer>)[] = [
    (token) => service.get('/user', { token }),
    (token) => service.get('/user/list?per_page=1', { token }),
    (token) => service.post('/auth/check-token', { body: { token } }),
    (token) => service.post('/auth/check-token', { token, body: {} }),
  ];
  const statuses = async (token: string) => {
    const found: number[] = [];
    for (const way of ways) found.push((await way(token)).status);
    return found;
  };
  const [accepted, rejected] = [ways.map(() => 200), ways.map(() => 401)];

  it('accepts both texts of a token, with the low and the high s (J15)', async () => {
    const { token } = await service.loginAs({ roles: ['carrier_administrator'] });
    const other = withOtherSignature(token);
    expect(other).not.toBe(token);
    expect(withOtherSignature(other)).toBe(token);
    expect([await statuses(token), await statuses(other)]).toEqual([accepted, accepted]);
  });

  /** Ways to end a login with one of the texts of its token. */
  const endings: [name: string, end: (login: TestLogin & { name: string }, text: string) => Promise<unknown>][] = [
    ['a logout', (_login, text) => service.post('/auth/logout', { token: text, body: {} })],
    ['the end of its session', ({ session_id }) => service.delete(`/auth/session/${session_id}`, service.admin)],
    [
      'the disabling of its user',
      ({ user_id }) => service.patch(`/user/${user_id}`, { token: service.admin.token, body: { status: 'disabled' } }),
    ],
    ['the deletion of its user', ({ user_id }) => service.delete(`/user/${user_id}`, service.admin)],
    ['its replacement by further logins', async ({ name }) => [await service.login(name), await service.login(name)]],
    [
      'a new password',
      async ({ name }) => {
        const { token } = await service.login(name);
        const body = { current_password: password, new_password: 'a quite different phrase' };
        return service.post('/auth/password', { token, body });
      },
    ],
  ];

  it.each(endings)(
    'rejects both texts of a token immediately after %s, regardless of which was used (J11, J18, S16)',
    async (_, end) => {
      for (const usesOther of [false, true]) {
        const login = await service.loginAs({ roles: ['carrier_administrator'] });
        const texts = [login.token, withOtherSignature(login.token)] as const;
        for (const text of texts) expect(await statuses(text)).toEqual(accepted);
        await end(login, texts[usesOther ? 1 : 0]);
        for (const text of texts) expect(await statuses(text)).toEqual(rejected);
      }
    },
  );

  it('caches a bounded number of texts (J17)', async () => {
    const { key, header } = ownKey(service);
    const claims = decode(service.admin.token);
    const verified = service.app.get(VerifiedTokens);
    const first = forge(header, { ...claims, jti: 'first' }, key);
    await verified.verify(first);
    await verified.verify(withOtherSignature(first));
    for (let added = 0; added < 20_000; added++) verified.remember(`text-${added}`, claims as never);
    expect([verified.find(first), verified.find(withOtherSignature(first))]).toEqual([null, null]);
  });
});
