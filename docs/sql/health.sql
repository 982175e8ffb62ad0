-- The statements of HealthRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/health.ts.

-- countOverdueJobs()
select 1
from graphile_worker.jobs
where locked_at is null and attempts < max_attempts and run_at < now() - interval '1 minute'
limit 1000;
