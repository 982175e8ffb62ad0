-- Creates the role that the service logs in as. The image runs this once, on an empty volume, as its superuser.
-- The role owns the database, so that it can run migrations and create pg_trgm, a trusted extension.
-- It is not a superuser: a superuser could disable the trigger of the audit log with session_replication_role.
\getenv service_password POSTGRES_PASSWORD
create role carrier_identity
  login nosuperuser nocreatedb nocreaterole noreplication nobypassrls
  password :'service_password';
alter database carrier_identity owner to carrier_identity;
-- Without a password the superuser cannot log in over the network. On the socket inside the container it can:
-- docker compose exec database psql --username=postgres carrier_identity
alter role postgres password null;
