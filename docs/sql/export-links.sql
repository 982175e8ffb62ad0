-- The statements of ExportLinksRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/export-links.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- put(other_id, hash, { status: 'active' }, 60)
insert into export_links (session_id, token_hash, query, expires_at)
select
  session_id, $1::bytea, $2::jsonb,
  now() + $3::integer * interval '1 second'
from sessions
where session_id = $4::uuid
  for key share
on conflict (session_id) do update set
  token_hash = excluded.token_hash,
  query = excluded.query,
  expires_at = excluded.expires_at
returning expires_at;

-- take(hash)
with used as (
  delete from export_links
  where token_hash = $1::bytea
  returning session_id, query, expires_at
)
select used.session_id, sessions.user_id, used.query
from used
join sessions on sessions.session_id = used.session_id
where used.expires_at > now();

-- removeExpired()
delete from export_links
where expires_at <= now();
