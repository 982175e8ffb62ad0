// Creates an administrator with a second factor for a program, and prints on one line: the login,
// two recovery codes, and the token of a session that authenticated ten minutes ago.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { Secret, TOTP } from 'otpauth';
import pg from 'pg';

const [url, login, password, name, database] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const { findEmbeddedPostgres } = require('../../dist/src/platform/embedded-postgres/embedded-postgres.js');

/** Returns the body of a successful response. */
async function send(path, body, token) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  assert.ok(response.ok, `POST ${path}: ${text}`);
  return JSON.parse(text);
}

const admin = await send('/auth/login', { login, password });
const user = { user_type: 'system', name, email: `${name}@example.com`, roles: ['administrator'] };
await send('/user/create', { ...user, password, must_change_password: false }, admin.access_token);
const session = await send('/auth/login', { login: name, password });
const { factor_id, secret } = await send('/auth/factor/totp', {}, session.access_token);
const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
const { recovery_codes } = await send('/auth/factor/totp/confirm', { factor_id, code }, session.access_token);

const sql = new pg.Client({
  connectionString: database.includes('://') ? database : await findEmbeddedPostgres(database),
});
await sql.connect();
const aged = await sql.query(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [
  session.session_id,
]);
await sql.end();
assert.equal(aged.rowCount, 1);
console.log([name, recovery_codes[0], recovery_codes[1], session.access_token].join(' '));
