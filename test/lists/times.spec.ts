import { Client } from 'pg';
import { dataSourceOptions } from '../../src/platform/database/data-source';
import { TestService } from '../support/service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const times: [time: string | null, answered: string | null][] = [
  ['2026-03-29 01:30:00+00', '2026-03-29T01:30:00.000Z'],
  ['2026-11-20 13:00:00.1+00', '2026-11-20T13:00:00.100Z'],
  ['2026-11-20 13:00:00.007+00', '2026-11-20T13:00:00.007Z'],
  ['9999-12-31 23:59:59.999+00', '9999-12-31T23:59:59.999Z'],
  ['12026-01-02 03:04:05.678+00', '+012026-01-02T03:04:05.678Z'],
  ['0001-01-01 12:00:00+00', '0001-01-01T12:00:00.000Z'],
  ['0044-03-15 12:00:00+00 BC', '-000043-03-15T12:00:00.000Z'],
  ['1850-06-01 00:00:00.5+00', '1850-06-01T00:00:00.500Z'],
  ['infinity', null],
  [null, null],
];

/**
 * Behind a pooler, connections do not set a time zone and use that of the server. This zone has
 * half hours, daylight saving time, and seconds before 1884.
 */
describe('times of lists on a database in another time zone, behind a pooler', () => {
  let database: TestDatabase;
  let service: TestService;
  beforeAll(async () => {
    database = await createTestDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(`alter database "${new URL(database.url).pathname.slice(1)}" set timezone = 'America/St_Johns'`);
    await client.end();
    service = await TestService.start({
      DATABASE_URL: database.url,
      DATABASE_DIRECT_URL: `${database.url}?application_name=direct`,
    });
  });
  afterAll(async () => {
    await service.close();
    await database.drop();
  });

  /** Not validated against the document, which allows only four-digit years. */
  const get = async (url: string) => {
    const headers = { authorization: `Bearer ${service.admin.token}` };
    const { payload } = await service.inject({ url, headers });
    return { text: payload, body: JSON.parse(payload) };
  };

  it.each(times)('show the time %s alike in a list and in a single user', async (time, answered) => {
    const { user_id } = await service.createUser({ password: undefined });
    await service.rows(
      `with logged_in as (update user_logins set last_login_at = $2 where user_id = $1)
      update users set email_verified_at = $2, locked_until = $2 where user_id = $1`,
      [user_id, time],
    );
    const one = await get(`/user/${user_id}`);
    expect(one.body).toMatchObject({ email_verified_at: answered, last_login_at: answered, locked_until: answered });
    for (const query of ['', 'order_by=last_login_at&order_dir=desc&per_page=200'])
      expect((await get(`/user/list?${query}`)).text).toContain(one.text);
  });

  it('are right for an expired session and for events', async () => {
    const { session_id } = await service.loginAs();
    const expire = `update sessions set expires_at = '2026-01-02 03:04:05.06+00' where session_id = $1`;
    await service.rows(expire, [session_id]);
    const at = '2026-01-02T03:04:05.060Z';
    const { body } = await get(`/auth/session/list?session_id=${session_id}`);
    expect(body.items).toMatchObject([{ expires_at: at, ended_at: at, ended_reason: 'expired', active: false }]);
    const rows = await service.rows<Record<string, unknown>>('select event_id, occurred_at from events');
    const { items } = (await get('/audit/list?per_page=500')).body;
    const answered = items.map(({ event_id, occurred_at }: Record<string, string>) => ({ event_id, occurred_at }));
    expect(answered).toEqual(expect.arrayContaining(JSON.parse(JSON.stringify(rows))));
  });

  it('are read in UTC on direct connections', async () => {
    const { extra } = dataSourceOptions({ url: database.url, poolMax: 1, purpose: 'requests' }) as {
      extra: { options: string };
    };
    const { options } = extra;
    const client = new Client({ connectionString: database.url, options });
    await client.connect();
    const { rows } = await client.query('show timezone').finally(() => client.end());
    expect(rows).toEqual([{ TimeZone: 'UTC' }]);
  });
});
