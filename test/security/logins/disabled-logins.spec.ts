import { password, TestService } from '../../support/service';
import { visiblePart } from '../../support/tokens';

describe('logins of disabled users', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const eventsOf = (user_id: string) =>
    service.rows(
      `select event_type, changes from events where target_id = $1 and event_type like 'login.%' order by event_id`,
      [user_id],
    );

  it('records that a disabled user entered the right password, and shows the caller no difference (L1)', async () => {
    const { user_id, name } = await service.createUser();
    await service.rows(`update users set status = 'disabled' where user_id = $1`, [user_id]);
    const attempt = async (entered: string) =>
      visiblePart(await service.post('/auth/login', { body: { login: name, password: entered } }));
    const [wrong, right] = [await attempt(`${password}!`), await attempt(password)];
    expect(right).toEqual(wrong);
    expect(await eventsOf(user_id)).toEqual([
      { event_type: 'login.failed', changes: {} },
      { event_type: 'login.failed', changes: { reason: { after: 'disabled' } } },
    ]);
    const { body } = await service.get(`/audit/list?target_id=${user_id}&event_type=login.failed`, service.admin);
    expect(body.items[0].changes).toEqual({ reason: { after: 'disabled' } });
  });

  it('counts the right password of a disabled user as a failure, like a wrong one (L1)', async () => {
    const { user_id, name } = await service.createUser();
    await service.rows(`update users set status = 'disabled' where user_id = $1`, [user_id]);
    const codes = [];
    for (let index = 0; index < 6; index++)
      codes.push((await service.post('/auth/login', { body: { login: name, password } })).body.code);
    expect(codes).toEqual([...Array<string>(5).fill('auth.invalid_credentials'), 'auth.too_many_attempts']);
    expect((await eventsOf(user_id)).at(-1)).toMatchObject({ event_type: 'login.locked' });
  });
});
