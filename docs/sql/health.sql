-- The statements of HealthRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/health.ts.

-- ping()
select 1;
