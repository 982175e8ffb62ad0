-- The statements of InvitationsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/invitations.ts.

-- add([ { user_id: user_id, limit_key: hash, job: { user_id: user_id, mail: 'invitation', email:...
with taken as (
  insert into rate_limits as counter (key, hits, ends_at)
  select distinct key, 1, now() + $1::integer * interval '1 second'
  from unnest($2::bytea[]) key
  order by key
  on conflict (key) do update
  set hits = case when counter.ends_at > now() then counter.hits else 0 end + excluded.hits,
    ends_at = case when counter.ends_at > now() then counter.ends_at else excluded.ends_at end
  where counter.ends_at <= now() or counter.hits < $3::integer
  returning key
),
  invited as (
    select invitation.*
    from unnest($4::uuid[], $5::bytea[], $6::json[], $7::text[])
      as invitation (user_id, limit_key, payload, key)
    join taken on taken.key = invitation.limit_key
  ),
  requested as (
    insert into one_time_tokens (user_id, purpose, requested_at)
    select user_id, $8, now()
    from invited
  ),
  enqueued as (
    select count(*) as jobs
    from (
      select array_agg((
        $9::text, payload, null, run_at, 25, key, $10::integer, null
      )::graphile_worker.job_spec) as specs
      from (select payload, key, null::timestamptz as run_at from invited) job
      having count(*) > 0
    ) batch
    cross join graphile_worker.add_jobs(batch.specs)
  )
select user_id
from invited
cross join enqueued;
