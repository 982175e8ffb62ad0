import { visibleResponse } from '../../support/links';
import { type TestLogin, TestService } from '../../support/service';

type User = TestLogin & { name: string; email: string };

describe('probing for users by creating users', () => {
  let service: TestService;
  let administrator: User;
  let own: User;
  let foreign: User;
  let system: User;
  let count = 0;

  beforeAll(async () => {
    service = await TestService.start();
    administrator = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] });
    own = await service.loginAs({ carrier_id: 'c1', first_name: 'Olivia' });
    foreign = await service.loginAs({ carrier_id: 'c2', first_name: 'Frederic', last_name: 'Foreign' });
    system = await service.loginAs({ user_type: 'system', roles: ['auditor'], first_name: 'Sybil' });
  });
  afterAll(() => service.close());

  const create = (token: string, fields: object) => {
    const name = `probe-${++count}`;
    return service.post('/user/create', {
      token,
      body: { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, ...fields },
    });
  };

  it.each([
    ['e-mail address', 'user.email_taken', ({ email }: User) => ({ email })],
    [
      'e-mail address in another spelling',
      'user.email_taken',
      ({ email }: User) => ({ email: ` ${email.toUpperCase()} ` }),
    ],
    ['login name', 'user.name_taken', ({ name }: User) => ({ name })],
  ])(
    'responds alike to a taken %s of the same carrier, another carrier or a System User (L3)',
    async (_title, code, fields) => {
      const users = await service.rows('select count(*) from users');
      const inOwnCarrier = await create(administrator.token, fields(own));
      expect([inOwnCarrier.status, inOwnCarrier.body.code]).toEqual([409, code]);
      for (const owner of [foreign, system]) {
        const elsewhere = await create(administrator.token, fields(owner));
        expect(visibleResponse(elsewhere)).toEqual(visibleResponse(inOwnCarrier));
        const shown = { ...elsewhere.body, request_id: undefined };
        expect(JSON.stringify(shown)).not.toMatch(
          new RegExp(`c2|${owner.user_id}|${owner.name}|${owner.email}|Frederic|Foreign|Sybil`, 'i'),
        );
      }
      expect(await service.rows('select count(*) from users')).toEqual(users);
    },
  );

  it('responds with 403 to a caller without user:create, for free and taken addresses or names (L3)', async () => {
    const caller = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_user'] });
    const free = await create(caller.token, {});
    expect([free.status, free.body.code]).toEqual([403, 'access.denied']);
    for (const owner of [own, foreign, system])
      for (const fields of [{ email: owner.email }, { name: owner.name }])
        expect(visibleResponse(await create(caller.token, fields))).toEqual(visibleResponse(free));
  });

  it('responds with 401 to a caller without a login, for free and taken addresses or names (L3)', async () => {
    const free = await service.post('/user/create', { body: { email: 'free@example.com' } });
    expect([free.status, free.body.code]).toEqual([401, 'auth.token_missing']);
    for (const { email, name } of [own, foreign, system])
      expect(visibleResponse(await service.post('/user/create', { body: { email, name } }))).toEqual(
        visibleResponse(free),
      );
  });
});
