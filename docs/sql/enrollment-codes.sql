-- The statements of EnrollmentCodesRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/enrollment-codes.ts.

-- put(user_id, hash, 900)
update enrollment_codes
set code_hash = $1::bytea,
  expires_at = now() + $2::integer * interval '1 second',
  wrong_codes = 0
where user_id = $3::uuid
returning 1;
