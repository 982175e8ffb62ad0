import type { Client } from 'pg';
import type { TestService } from '../service';

const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0';
const safari = 'AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1';
const agents = [
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36`,
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36 Edg/130.0.2849.80`,
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0',
  `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${safari} Safari/605.1.15`,
  `Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) ${safari} Mobile/15E148 Safari/604.1`,
  `Mozilla/5.0 (Linux; Android 14; Pixel 8) ${chrome} Mobile Safari/537.36`,
  'curl/8.10.1',
];

/**
 * Sessions of the existing users, spread in order over the last 90 days. Of a hundred, one is live,
 * one has expired without an end, and 98 have ended. Every two thousandth has two factors, and
 * every ten thousandth has a rare address and user agent. Apart from the times, the rows are the
 * same in each run.
 */
const sessions = `
  insert into sessions (
    session_id, user_id, user_type, carrier_id, refresh_token_hash,
    refreshed_at, created_at, last_seen_at,
    expires_at, absolute_expires_at, ip, user_agent, amr, ended_at, ended_reason
  )
  select
    gen_random_uuid(), user_id, user_type, carrier_id, sha256(i::text::bytea),
    last_seen_at, created_at, last_seen_at,
    case when i > $1 * 0.99 then now() + interval '20 hours' else last_seen_at + interval '1 day' end,
    created_at + interval '30 days',
    case when i % 10000 = 0 then inet '198.51.100.7' else inet '10.0.0.0' + i % 50000 end,
    case when i % 10000 = 0 then 'RareTool/1.0' else ($2::text[])[1 + i % 7] end,
    case when i % 2000 = 0 then '{pwd,otp,mfa}'::text[] else '{pwd}' end,
    case when i <= $1 * 0.98 then least(last_seen_at + interval '10 minutes', now()) end,
    case
      when i > $1 * 0.98 then null
      when i % 5000 = 0 then 'token_reuse'
      when i % 3 = 0 then 'logout'
      else 'expired'
    end
  from (
    select
      i, users.user_id, users.user_type, users.carrier_id, moment as created_at,
      moment + interval '5 minutes' + interval '1 hour' * (i % 7) * (i <= $1 * 0.98)::integer as last_seen_at
    from (
      select
        i, now() - interval '90 days' * (1 - i::float / $1) - interval '10 minutes' as moment,
        1 + (i * 7919::bigint) % $3 as number
      from generate_series(1, $1::integer) i
    ) made
    join (
      select user_id, user_type, carrier_id, row_number() over (order by user_id) as number
      from users
    ) users using (number)
  ) logins`;

/** Inserts sessions for existing users within seconds: the indexes are built afterwards. */
export async function fillSessions(client: Client, count: number): Promise<void> {
  const { rows: indexes } = await client.query<{
    indexname: string;
    indexdef: string;
  }>(`select indexname, indexdef from pg_indexes
    where tablename in ('sessions', 'session_search') and indexname not in (select conname from pg_constraint)`);
  await client.query('begin');
  for (const { indexname } of indexes) await client.query(`drop index ${indexname}`);
  const { rows } = await client.query<{ count: number }>('select count(*)::integer as count from users');
  await client.query(sessions, [count, agents, rows[0]?.count]);
  for (const { indexdef } of indexes) await client.query(indexdef);
  await client.query('commit');
  await client.query('vacuum analyze sessions, session_search');
}

/**
 * Inserts sessions of a user and returns their ids in order.
 * @param columns SQL of columns, in which `i` is the number of the session from 1
 */
export async function addSessions(
  service: Pick<TestService, 'rows'>,
  user_id: string,
  count: number,
  columns: Record<string, string> = {},
): Promise<string[]> {
  const all = { created_at: 'now()', last_seen_at: 'now()', expires_at: `now() + interval '1 hour'`, ...columns };
  const rows = await service.rows<{ session_id: string }>(
    `
      insert into sessions (
        session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, absolute_expires_at,
        ${Object.keys(all).join()}
      )
      select
        uuid_v7(), user_id, user_type, carrier_id, '', now(), now() + interval '1 day',
        ${Object.values(all).join()}
      from users, generate_series(1, $2::integer) i
      where user_id = $1
      returning session_id`,
    [user_id, count],
  );
  return rows.map(({ session_id }) => session_id);
}
