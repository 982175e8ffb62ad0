import { Client } from 'pg';
import { sql } from '../../src/common/query/sql';
import { Database } from '../../src/database/database';
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

/** Behind a pooler, connections do not set a time zone and use that of the server. */
describe.each(['UTC', 'Europe/London', 'America/St_Johns'])('times of lists on a database in time zone %s', (zone) => {
  let database: TestDatabase;
  let service: TestService;
  beforeAll(async () => {
    database = await createTestDatabase();
    await setZone(database, zone);
    service = await TestService.start({
      DATABASE_URL: database.url,
      DATABASE_DIRECT_URL: `${database.url}?application_name=direct`,
    });
    expect((await service.app.get(Database).run<{ TimeZone: string }>(sql`show timezone`))[0]?.TimeZone).toBe(zone);
  });
  afterAll(async () => {
    await service.close();
    await database.drop();
  });

  /** Not validated against the document, which allows only four-digit years. */
  const get = async (url: string) => {
    const headers = { authorization: `Bearer ${service.admin.token}` };
    const { statusCode, payload } = await service.app.inject({ method: 'GET', url, headers });
    return { status: statusCode, text: payload, body: JSON.parse(payload) };
  };

  it.each(times)('returns the time %s alike in a list and in a single user', async (time, answered) => {
    const { user_id } = await service.createUser();
    await service.rows(
      `with logged_in as (update user_logins set last_login_at = $2 where user_id = $1)
      update users set email_verified_at = $2, locked_until = $2 where user_id = $1`,
      [user_id, time],
    );
    const one = await get(`/user/${user_id}`);
    expect(one.body).toMatchObject({ email_verified_at: answered, last_login_at: answered, locked_until: answered });
    // A prepared statement with values that starts at the nulls of a sort.
    for (const query of ['', 'per_page=200', 'order_by=last_login_at&order_dir=desc&per_page=200'])
      expect((await get(`/user/list?${query}`)).text).toContain(one.text);
  });

  it('returns the right times for an expired session and for events', async () => {
    const { session_id } = await service.loginAs();
    await service.rows(`update sessions set expires_at = '2026-01-02 03:04:05.06+00' where session_id = $1`, [
      session_id,
    ]);
    const { body } = await get('/auth/session/list');
    const at = '2026-01-02T03:04:05.060Z';
    const session = body.items.find((item: { session_id: string }) => item.session_id === session_id);
    expect(session).toMatchObject({ expires_at: at, ended_at: at, ended_reason: 'expired', active: false });
    const rows = await service.rows('select event_id, occurred_at from events order by event_id');
    const events = await get('/audit/list?per_page=500');
    const answered = events.body.items.map(({ event_id, occurred_at }: Record<string, string>) => ({
      event_id,
      occurred_at,
    }));
    expect(answered).toEqual(expect.arrayContaining(JSON.parse(JSON.stringify(rows))));
  });

  it('pages through users by time, each once', async () => {
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { status, body } = await get(
        `/user/list?order_by=last_login_at&per_page=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      expect(status).toBe(200);
      seen.push(...body.items.map(({ user_id }: { user_id: string }) => user_id));
      cursor = body.next_cursor;
    }
    const rows = await service.rows<{ user_id: string }>('select user_id from users');
    expect(seen.sort()).toEqual(rows.map(({ user_id }) => user_id).sort());
  });
});

async function setZone({ url }: TestDatabase, zone: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client
    .query(`alter database "${new URL(url).pathname.slice(1)}" set timezone = '${zone}'`)
    .finally(() => client.end());
}

it('uses UTC on direct connections, regardless of the time zone of the database', async () => {
  const database = await createTestDatabase();
  await setZone(database, 'America/St_Johns');
  const service = await TestService.start({ DATABASE_URL: database.url });
  expect(await service.app.get(Database).run(sql`show timezone`)).toEqual([{ TimeZone: 'UTC' }]);
  await service.close();
  await database.drop();
});
