-- The statements of HealthRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/health.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- ping()
select 1;

-- countOverdueJobs()
select 1
from graphile_worker._private_jobs
where is_available and run_at < now() - interval '1 minute'
limit 1000;
