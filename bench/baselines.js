// Baselines: the least code that does the same work, in a separate process on the same core.
// Started by stage.js.
require('reflect-metadata');
const { createHash, createHmac, generateKeyPairSync, randomUUID } = require('node:crypto');
const { Controller, Get, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { JwtService } = require('@nestjs/jwt');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const { hash } = require('@node-rs/argon2');
const { fastify } = require('fastify');
const { Pool } = require('pg');
const { ARGON2, PASSWORD } = require('./fill');
const { COLUMNS, LISTS } = require('./lists');
const { answerParent } = require('./processes');

const ONE = { name: 'one', text: `select ${COLUMNS} from users where user_id = $1 and deleted_at is null` };
const BY_NAME = {
  name: 'by-name',
  text: `
    select ${COLUMNS}
    from users
    where deleted_at is null and status = $1 and carrier_id = $2
    order by lower(name), user_id
    limit 51`,
};
const REFRESH = {
  name: 'refresh',
  text: `
    update sessions
    set previous_refresh_token_hash = refresh_token_hash,
      refresh_token_hash = $3,
      refreshed_at = now(),
      last_seen_at = now(),
      expires_at = least(absolute_expires_at, now() + interval '1 day')
    where session_id = $1 and refresh_token_hash = $2 and ended_at is null and expires_at > now()
    returning user_id, expires_at`,
};

/** Creates an invited user with the event, the request of a link and the mail job. */
const CREATE = {
  name: 'create',
  text: `
    with made as (
      insert into users (user_id, user_type, name, email, first_name, last_name, carrier_id, roles, status)
      select uuid_v7(), user_type, name, email, first_name, last_name, carrier_id, roles, 'invited'
      from jsonb_to_record($1) as person (
        user_type text, name text, email text, first_name text, last_name text, carrier_id text, roles text[]
      )
      returning ${COLUMNS}
    ),
    recorded as (
      insert into events (event_type, actor_type, target_type, target_id, carrier_id, request_id, changes)
      select 'user.created', 'system', 'user', user_id, carrier_id, 'bare', $1
      from made
    ),
    requested as (
      insert into one_time_tokens (user_id, purpose, requested_at)
      select user_id, 'invite', now()
      from made
    )
    select made.*, (graphile_worker.add_job(
      'bare',
      jsonb_build_object('user_id', made.user_id)::json,
      -- No worker handles the job. Later than all others, it does not slow down the service.
      run_at => now() + interval '1 day',
      job_key => made.user_id::text
    )).id
    from made`,
};

/** Starts an empty Nest application: the cost of a request without any work. */
async function startHello() {
  class HelloController {
    hello() {
      return { hello: 'world' };
    }
  }
  const { prototype } = HelloController;
  Get('hello')(prototype, 'hello', Object.getOwnPropertyDescriptor(prototype, 'hello'));
  Controller()(HelloController);
  class HelloModule {}
  Module({ controllers: [HelloController] })(HelloModule);
  const app = await NestFactory.create(HelloModule, new FastifyAdapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  return `http://127.0.0.1:${app.getHttpServer().address().port}`;
}

/** Starts Fastify with prepared statements: the cost of the network and the database. */
async function startPlain(databaseUrl) {
  const pool = new Pool({ connectionString: databaseUrl, max: 10 });
  const server = fastify();
  server.get('/user/:user_id', async ({ params }) => (await pool.query({ ...ONE, values: [params.user_id] })).rows[0]);
  server.get('/user/by-name', async ({ query }) =>
    page(await pool.query({ ...BY_NAME, values: [query.status, query.carrier_id] })),
  );
  for (const list of LISTS) server.get(list.path, listWith(pool, list));
  server.post('/create', async ({ body }) => (await pool.query({ ...CREATE, values: [body] })).rows[0]);
  server.post('/refresh', refreshWith(pool));
  return server.listen({ port: 0, host: '127.0.0.1' });
}

function page({ rows }, total = null) {
  return { items: rows.slice(0, 50), per_page: 50, next_cursor: rows[50]?.user_id ?? null, total };
}

/** Returns the handler of a list, with the total if the service returns a total too. */
function listWith(pool, { path, sql, total = null }) {
  return async () => {
    const found = await pool.query({ name: `list ${path}`, text: sql });
    if (total === null) return page(found);
    return page(found, (await pool.query({ name: `total ${path}`, text: total })).rows[0]);
  };
}

/** Rotates a token `session_id.secret` with one UPDATE … RETURNING and one ES256 signature. */
function refreshWith(pool) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwt = new JwtService({});
  const digest = (token) => createHash('sha256').update(token).digest();
  return async ({ body }, reply) => {
    const [session_id] = body.refresh_token.split('.');
    const secret = createHmac('sha256', 'chain').update(body.refresh_token).digest('base64url');
    const refresh_token = `${session_id}.${secret}`;
    const { rows } = await pool.query({
      ...REFRESH,
      values: [session_id, digest(body.refresh_token), digest(refresh_token)],
    });
    if (rows.length === 0) return reply.code(401).send({});
    const claims = {
      sub: rows[0].user_id,
      sid: session_id,
      jti: randomUUID(),
      user_type: 'carrier',
      roles: ['carrier_user'],
    };
    const access_token = jwt.sign(claims, { privateKey, algorithm: 'ES256', expiresIn: 600 });
    return { access_token, refresh_token, refresh_expires_in: Math.floor((rows[0].expires_at - Date.now()) / 1000) };
  };
}

/** Computes Argon2id hashes with the parameters of the service, one at a time. */
async function hashFor(seconds) {
  const latencies = [];
  const start = performance.now();
  for (let before = start; before - start < seconds * 1000;) {
    await hash(PASSWORD, ARGON2);
    const after = performance.now();
    latencies.push(after - before);
    before = after;
  }
  return { requests: latencies.length, seconds: (performance.now() - start) / 1000, latencies, failed: 0 };
}

answerParent({
  start: async (databaseUrl) => ({ hello: await startHello(), plain: await startPlain(databaseUrl) }),
  hash: hashFor,
});
