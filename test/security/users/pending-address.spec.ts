import { enrolApp } from '../../support/factors';
import { endMailLimits } from '../../support/links';
import { password, type TestLogin, TestService } from '../../support/service';

const past = '2020-01-01T00:00:00Z';

describe('a proposed address', () => {
  let service: TestService;
  let user: TestLogin & { name: string; email: string };
  let role: string;
  let next: string;
  let count = 0;
  beforeAll(async () => {
    service = await TestService.start();
  });
  beforeEach(async () => {
    await endMailLimits(service);
    role = `role${++count}`;
    next = `next${count}@example.org`;
    const body = { name: role, user_types: ['carrier'], permissions: ['session:read'] };
    expect((await service.post('/role/create', { ...service.admin, body })).status).toBe(201);
    user = await service.loginAs({ roles: [role] });
  });
  afterAll(() => service.close());

  const patch = (body: object) => service.patch(`/user/${user.user_id}`, { token: service.admin.token, body });
  const patchAll = (body: object) =>
    service.patch(`/user/all?user_id=${user.user_id}`, { token: service.admin.token, body });
  const patchRole = (body: object) => service.patch(`/role/${role}`, { token: service.admin.token, body });
  const stored = async () => (await service.get(`/user/${user.user_id}`, { token: service.admin.token })).body;
  const propose = async () => {
    const body = { email: next, current_password: password };
    expect((await service.post('/auth/email', { token: user.token, body })).status).toBe(202);
    return (await service.mailbox.take(next, /\/auth\/email\//)).token;
  };
  /** Enrols an authenticator app, and returns what removes it. */
  const withApp = async () => {
    const { factor_id } = await enrolApp(service, user);
    return () => service.delete(`/auth/factor/${factor_id}`, user);
  };
  const nothing = () => Promise.resolve(() => Promise.resolve());

  type Case = [title: string, prepare: () => Promise<() => Promise<unknown>>, event: () => Promise<unknown>];
  it.each<Case>([
    ['a reset of the factors', withApp, () => service.delete(`/user/${user.user_id}/factor/all`, service.admin)],
    ['a reset of the factors in bulk', withApp, () => patchAll({ reset_second_factors: true })],
    ['an enrolled factor', nothing, () => enrolApp(service, user)],
    ['a required factor', nothing, () => patch({ second_factor_required_from: past })],
    ['a required factor in bulk', nothing, () => patchAll({ second_factor_required_from: past })],
    ['must_change_password', nothing, () => patch({ must_change_password: true })],
    ['other roles', nothing, () => patch({ roles: ['carrier_user'] })],
    [
      'disabling and enabling',
      nothing,
      async () => {
        await patch({ status: 'disabled' });
        return patch({ status: 'active' });
      },
    ],
  ])('is dropped by %s, and its link is void (E30)', async (_title, prepare, event) => {
    await prepare();
    const link = await propose();
    expect((await service.get(`/auth/email/${link}`)).status).toBe(200);
    expect((await stored()).email_pending).toBe(next);
    await event();
    expect((await stored()).email_pending).toBeNull();
    expect((await service.get(`/auth/email/${link}`)).body.code).toBe('email.token_invalid');
    expect((await service.post(`/auth/email/${link}`)).body.code).toBe('email.token_invalid');
    expect((await stored()).email).toBe(user.email);
  });

  it('is dropped by the removal of a factor (E30)', async () => {
    const remove = await withApp();
    const link = await propose();
    await remove();
    expect((await stored()).email_pending).toBeNull();
    expect((await service.post(`/auth/email/${link}`)).body.code).toBe('email.token_invalid');
  });

  it.each([
    ['was extended', { permissions: ['session:read', 'user:read'] }],
    ['requires a factor', { second_factor_required_from: past }],
    ['may grant another', { may_grant: ['carrier_user'] }],
  ])('cannot be confirmed after a role of the user %s (E30)', async (_title, change) => {
    const link = await propose();
    expect((await patchRole(change)).status).toBe(200);
    expect((await service.get(`/auth/email/${link}`)).body.code).toBe('email.token_invalid');
    expect((await service.post(`/auth/email/${link}`)).body.code).toBe('email.token_invalid');
    expect((await stored()).email).toBe(user.email);
    await patchRole({ second_factor_required_from: null });
    // Proposed again with the current rights.
    expect((await service.post(`/auth/email/${await propose()}`)).status).toBe(204);
    expect((await stored()).email).toBe(next);
  });

  it('is bound to the rights at the time of the proposal, even if the link is mailed later (E30)', async () => {
    await service.rows(`delete from rate_limits`);
    for (let others = 0; others < 3; others++) {
      const other = await service.createUser();
      await service.patch(`/user/${other.user_id}`, { token: service.admin.token, body: { email: next } });
      await service.mailbox.take(next, /\/auth\/email\//);
    }
    expect((await patch({ email: next })).status).toBe(200);
    expect((await patchRole({ permissions: ['user:read'] })).status).toBe(200);
    await service.rows(`delete from rate_limits`);
    await service.rows('update graphile_worker._private_jobs set run_at = now() where run_at > now()');
    const { token } = await service.mailbox.take(next, /\/auth\/email\//);
    expect((await service.post(`/auth/email/${token}`)).body.code).toBe('email.token_invalid');
  });

  it('is kept by changes that give no right, and by a change of other roles', async () => {
    const link = await propose();
    await patch({ first_name: 'Ada', attributes: { tier: 'gold' } });
    const other = { name: `other${count}`, user_types: ['carrier'], permissions: [] };
    await service.post('/role/create', { ...service.admin, body: other });
    await service.patch(`/role/${other.name}`, { ...service.admin, body: { permissions: ['user:read'] } });
    expect((await service.post(`/auth/email/${link}`)).status).toBe(204);
    expect((await stored()).email).toBe(next);
  });

  it('can be proposed 5 times in an hour by the user, and 5 times by all others together (E14, R30)', async () => {
    const other = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const proposeOwn = (email: string) =>
      service.post('/auth/email', { token: user.token, body: { email, current_password: password } });
    const statuses = [];
    for (let proposal = 0; proposal < 5; proposal++) statuses.push((await proposeOwn(`own${proposal}${next}`)).status);
    expect(statuses).toEqual([202, 202, 202, 202, 202]);
    const proposeAs = ({ token }: TestLogin, email: string) =>
      service.patch(`/user/${user.user_id}`, { token, body: { email } });
    for (let proposal = 0; proposal < 5; proposal++)
      statuses.push((await proposeAs(proposal % 2 === 0 ? service.admin : other, `${proposal}${next}`)).status);
    expect(statuses.slice(5)).toEqual([200, 200, 200, 200, 200]);
    for (const refused of [await proposeOwn(next), await proposeAs(other, next), await patch({ email: next })]) {
      expect(refused.body).toMatchObject({ status: 429, code: 'request.rate_limited' });
      expect(refused.headers).toMatchObject({
        'retry-after': expect.stringMatching(/^3[56]\d\d$/),
        'ratelimit-policy': '"proposals";q=5;w=3600',
        ratelimit: expect.stringMatching(/^"proposals";r=0;t=3[56]\d\d$/),
      });
    }
    expect((await stored()).email_pending).toBe(`4${next}`);
    // Other fields, and the current address, are no proposals.
    expect((await patch({ email: user.email, first_name: 'Ada' })).status).toBe(200);
    expect((await stored()).email_pending).toBeNull();
    const { user_id } = await service.createUser();
    const request = { token: service.admin.token, body: { email: next } };
    expect((await service.patch(`/user/${user_id}`, request)).status).toBe(200);
  });
});
