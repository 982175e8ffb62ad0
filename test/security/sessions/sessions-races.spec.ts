import { TestService } from '../../support/service';

describe('sessions that several requests end at once', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  it('makes two filters and a change of their users wait for each other, and rejects none (B15, F26)', async () => {
    const { token } = service.admin;
    const ids: string[] = [];
    while (ids.length < 20) ids.push((await service.createUser({ carrier_id: 'crowd' })).user_id);
    for (let round = 0; round < 6; round++) {
      await service.rows(`update users set status = 'active' where user_id = any($1)`, [ids]);
      await service.rows(
        `
          insert into sessions (
            session_id, user_id, user_type, carrier_id, refresh_token_hash,
            refreshed_at, expires_at, absolute_expires_at
          )
          select
            gen_random_uuid(), user_id, user_type, carrier_id, '',
            now(), now() + interval '1 hour', now() + interval '1 hour'
          from users, generate_series(1, 150)
          where user_id = any($1)`,
        [ids],
      );
      const answers = await Promise.all([
        service.delete('/auth/session/all?carrier_id=crowd', { token }),
        service.patch('/user/all?carrier_id=crowd', { token, body: { status: 'disabled' } }),
        service.delete('/auth/session/all?carrier_id=crowd&active=true', { token }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(await service.rows('select 1 from sessions where user_id = any($1) and ended_at is null', [ids])).toEqual(
        [],
      );
    }
  });
});
