import { createKey } from '../../support/keys';
import { type TestLogin, TestService } from '../../support/service';

describe('records in responses to callers without user:read', () => {
  let service: TestService;
  let reader: TestLogin;
  let writer: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('writer', '{system}', '{user:update,user:delete}'),
      ('reader', '{system}', '{user:update,user:delete,user:read}')`);
    reader = await service.loginAs({ user_type: 'system', roles: ['reader'] });
    writer = await service.loginAs({ user_type: 'system', roles: ['writer'] });
  });
  afterAll(() => service.close());

  it('shows only ids in the sample of a dry run (Z33)', async () => {
    const { user_id, name, email } = await service.createUser({
      first_name: 'Unmistakable',
      attributes: { tier: 'x' },
    });
    const { key } = await createKey(service, ['user:update', 'user:delete']);
    const url = `/user/all?user_id=${user_id}&dry_run=true`;
    for (const token of [writer.token, key]) {
      const answers = [
        await service.patch(url, { token, body: { timezone: 'Asia/Tokyo' } }),
        await service.delete(url, { token }),
      ];
      for (const { status, body, text } of answers) {
        expect([status, body.would_change, body.sample]).toEqual([200, 1, [{ user_id }]]);
        for (const value of [name, email, 'Unmistakable', 'tier']) expect(text).not.toContain(value);
      }
    }
    const { body } = await service.patch(url, { token: reader.token, body: { timezone: 'Asia/Tokyo' } });
    expect(body.sample).toMatchObject([{ user_id, name, email, first_name: 'Unmistakable' }]);
  });

  it('rejects a change of another user without an effect, which only reads the user (Z33)', async () => {
    const { user_id } = await service.createUser();
    const patch = ({ token }: TestLogin, id: string, body: object) => service.patch(`/user/${id}`, { token, body });
    const missing = '01900000-0000-7000-8000-000000000000';
    for (const id of [user_id, missing]) {
      const { status, body } = await patch(writer, id, {});
      expect([status, body.code]).toEqual([403, 'access.denied']);
    }
    for (const nothing of [{ attributes: {} }, { locale: null }, { status: 'active' }])
      expect((await patch(writer, user_id, nothing)).status).toBe(403);
    expect((await patch(reader, user_id, {})).status).toBe(200);
    expect((await patch(writer, writer.user_id, {})).status).toBe(200);
    expect((await patch(writer, user_id, { first_name: 'Ada' })).body.first_name).toBe('Ada');
  });
});
