import { type TestAnswer, TestService } from '../../support/service';

describe('versions of roles', () => {
  let service: TestService;
  let token: string;
  let count = 0;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
  });
  afterAll(() => service.close());

  const create = async (fields: object = {}) => {
    const name = `role-${++count}`;
    const answer = await service.post('/role/create', { token, body: { name, user_types: ['system'], ...fields } });
    expect(answer.status).toBe(201);
    return { name, answer };
  };
  const change = (name: string, body: object, version?: string) =>
    service.patch(`/role/${name}`, { token, body, headers: version === undefined ? {} : { 'if-match': version } });
  const outcome = ({ status, headers, body }: TestAnswer) => [status, headers['etag'] ?? body?.code];

  it('returns the version of a role as its ETag, and increases it with each change that has an effect', async () => {
    const { name, answer } = await create();
    expect([answer.headers['etag'], answer.body.version, answer.headers['location']]).toEqual([
      '"1"',
      1,
      `/role/${name}`,
    ]);
    expect(outcome(await service.get(`/role/${name}`, { token }))).toEqual([200, '"1"']);
    expect(outcome(await change(name, { description: 'Plans tours' }))).toEqual([200, '"2"']);
    expect(outcome(await change(name, { description: 'Plans tours' }))).toEqual([200, '"2"']);
    expect(outcome(await change(name, {}, '"2"'))).toEqual([200, '"2"']);
    const { body } = await service.get('/role/list', { token });
    expect(body.items.find((role: { name: string }) => role.name === name).version).toBe(2);
    const required = { second_factor_required_from: '2030-01-01T00:00:00Z' };
    const [, before] = outcome(await service.get('/role/auditor', { token }));
    expect(outcome(await change('auditor', required, before as string))[0]).toBe(200);
    expect(outcome(await change('auditor', required, before as string))).toEqual([412, 'role.version_mismatch']);
  });

  it('rejects the change and the deletion of a version that another editor replaced (B16)', async () => {
    const { name } = await create({ permissions: ['user:read'] });
    expect(outcome(await change(name, { permissions: ['user:read', 'tour:plan'] }, '"1"'))).toEqual([200, '"2"']);
    const late = await change(name, { permissions: ['user:read', 'tour:close'] }, '"1"');
    expect(outcome(late)).toEqual([412, 'role.version_mismatch']);
    const remove = (version: string) => service.delete(`/role/${name}`, { token, headers: { 'if-match': version } });
    expect(outcome(await remove('"1"'))).toEqual([412, 'role.version_mismatch']);
    expect((await service.get(`/role/${name}`, { token })).body).toMatchObject({
      permissions: ['tour:plan', 'user:read'],
      version: 2,
    });
    expect(outcome(await change('no-such-role', {}, '"1"'))).toEqual([404, 'role.not_found']);
    expect((await remove('"1", "2"')).status).toBe(204);
  });

  it('accepts one of two changes of the same version at the same time (B16)', async () => {
    const { name } = await create();
    const answers = await Promise.all(['one', 'two'].map((description) => change(name, { description }, '"1"')));
    expect(answers.map(outcome).sort()).toEqual([
      [200, '"2"'],
      [412, 'role.version_mismatch'],
    ]);
  });

  it('checks the version before it checks whether the role is in use', async () => {
    const { name } = await create();
    await service.createUser({ user_type: 'system', roles: [name] });
    const remove = (version: string) => service.delete(`/role/${name}`, { token, headers: { 'if-match': version } });
    expect(outcome(await remove('"7"'))).toEqual([412, 'role.version_mismatch']);
    expect(outcome(await remove('*'))).toEqual([409, 'role.in_use']);
  });
});
