import { type TestLogin, TestService } from '../../support/service';

type Login = TestLogin & { name: string; email: string };

describe('filters of one carrier', () => {
  let service: TestService;
  let own: Login;
  let foreign: Login;
  let scoped: Login;
  beforeAll(async () => {
    service = await TestService.start();
    own = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] });
    await service.createUser({ carrier_id: 'c1', roles: ['carrier_user'] });
    foreign = await service.loginAs({
      carrier_id: 'c2',
      roles: ['carrier_user'],
      first_name: 'Ada',
      attributes: { carrier_id: 'c1', n: 1 },
    });
    await service.createUser({ carrier_id: 'C1', roles: ['carrier_user'], first_name: 'Ada' });
    scoped = await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: ['c1'] });
  });
  afterAll(() => service.close());

  describe('with a filter that tries to widen the scope', () => {
    const filters = () => [
      ...[
        'carrier_id=c2',
        'carrier_id=C1',
        'carrier_id_ne=c1',
        'carrier_id_in=c1,c2',
        'carrier_id_in=c2',
        'carrier_id_isnull=true',
      ],
      ...[
        'carrier_id_isnull=false',
        'user_type=system',
        'user_type_ne=carrier',
        'user_type_in=system,carrier',
        'status_ne=invited',
      ],
      ...[
        `user_id=${foreign.user_id}`,
        `user_id_ne=${own.user_id}`,
        `user_id_in=${foreign.user_id},${service.admin.user_id}`,
      ],
      ...[
        `name=${foreign.name}`,
        `name_ne=${own.name}`,
        `name_like=${foreign.name.slice(0, 4)}`,
        `email=${foreign.email}`,
        'q=ada',
        'q=a',
      ],
      ...[
        'role=administrator',
        'role_in=administrator,carrier_user',
        'attributes.carrier_id=c1',
        'attributes.n=1',
        'online=true',
      ],
      ...[
        'online_ne=false',
        'created_at_gt=2000-01-01T00:00:00Z',
        'last_login_at_isnull=false',
        'last_login_ip=0.0.0.0/0',
        'carrier_id_ne=zz',
      ],
      ...[
        'carrier_id=c1&carrier_id=c2',
        'carrier_id[]=c1&carrier_id[]=c2',
        'carrier_id[$ne]=c1',
        'carrier_id!=c1',
        'carrier_id[not]=c1',
      ],
      ...[
        'or[carrier_id]=c2',
        '$or=carrier_id.eq.c2',
        'filter=carrier_id:c2',
        'where={"carrier_id":"c2"}',
        'not=carrier_id',
        'carrier_id=',
      ],
      ...[
        'carrier_id=null',
        'carrier_id=*',
        'carrier_id=%25',
        'carrier_id_like=%25%25%25',
        "carrier_id=c1'or'1'='1",
        'carrier.id=c2',
      ],
      ...[
        'scope=all',
        'carrier_scope=null',
        'carrier_scope_isnull=true',
        'as=administrator',
        'user.carrier_id=c2',
        'everyone=true',
      ],
    ];
    const isOwn = (item: { carrier_id: string | null; user_id: string }, login: Login) =>
      item.carrier_id === 'c1' || (login === scoped && item.user_id === login.user_id);

    it('shows no user or session of another carrier in lists and previews (Z5)', async () => {
      let foundByAdministrator = 0;
      for (const filter of filters()) {
        for (const [login, path] of [own, scoped].flatMap((login) =>
          ['/user/list', '/auth/session/list'].map((path) => [login, path] as const),
        )) {
          const { status, body } = await service.get(`${path}?${filter}&per_page=500`, login);
          expect([filter, status === 200 || status === 400]).toEqual([filter, true]);
          const strangers = (body.items ?? []).filter((item: never) => !isOwn(item, login));
          expect([filter, strangers]).toEqual([filter, []]);
        }
        const preview = await service.delete(`/user/all?${filter}&dry_run=true`, own);
        const strangers = (preview.body.sample ?? []).filter((item: never) => !isOwn(item, own));
        expect([filter, strangers]).toEqual([filter, []]);
        const all = await service.get(`/user/list?${filter}&per_page=500`, service.admin);
        foundByAdministrator += all.body.items?.some((item: never) => !isOwn(item, own)) === true ? 1 : 0;
      }
      // Control: without the scope, the same filters match other users.
      expect(foundByAdministrator).toBeGreaterThan(20);
    });
  });
});
