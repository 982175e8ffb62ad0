// `npm run bench:timing`: measures for each form of stored hash whether the time of a rejected
// login reveals that the user exists.
//   --samples 300 (of each form)
// Imports a user with each form into one instance of the service. Then sends wrong passwords over a
// real socket, one at a time. Each round sends one for each form, in random order.
// AUC is the probability that a rejected login of a form takes longer than a rejected login of an
// unknown user: 0.5 if the time reveals nothing.
const { createHash, pbkdf2Sync, randomBytes, randomInt, scryptSync } = require('node:crypto');
const { hash: hashArgon2 } = require('@node-rs/argon2');
const { hash: hashBcrypt } = require('@node-rs/bcrypt');
const { Logins, Operations } = require('./callers');
const { choose, PASSWORD } = require('./fill');
const { aucNote, aucOf, grid, quantile } = require('./report');
const { optionsOf, prepare, run } = require('./stage');

const AUC_MIN = 0.45;
const AUC_MAX = 0.55;
const WARM_UP_ROUNDS = 3;
const UNKNOWN = 'unknown user';
/** The password of this user is voided after the import. */
const VOIDED = 'voided password';

const { samples } = optionsOf({ samples: 300 });

const base64 = (bytes) => bytes.toString('base64').replace(/=+$/, '');
const salt = randomBytes(16);
const pbkdf2 = (digest, iterations, bytes) =>
  `$pbkdf2-${digest}$i=${iterations}$${base64(salt)}$${base64(pbkdf2Sync(PASSWORD, salt, iterations, bytes, digest))}`;
const scrypt = (ln) => {
  const bytes = scryptSync(PASSWORD, salt, 32, { N: 2 ** ln, r: 8, p: 1, maxmem: 2 ** 28 });
  return `$scrypt$ln=${ln},r=8,p=1$${base64(salt)}$${base64(bytes)}`;
};

/** Hashes of other systems in the forms that an import accepts. */
const IMPORTED = {
  'bcrypt 10': () => hashBcrypt(PASSWORD, { cost: 10 }),
  'bcrypt 12': () => hashBcrypt(PASSWORD, { cost: 12 }),
  'PBKDF2-SHA256 29,000': () => pbkdf2('sha256', 29_000, 32),
  'PBKDF2-SHA256 600,000': () => pbkdf2('sha256', 600_000, 32),
  'scrypt 2^14': () => scrypt(14),
  'Argon2id 64 MiB, t=3, p=4': () => hashArgon2(PASSWORD, { memoryCost: 65_536, timeCost: 3, parallelism: 4 }),
  [VOIDED]: () => hashArgon2(PASSWORD),
  'wrapped MD5': () => createHash('md5').update(PASSWORD).digest('hex'),
};

/** Imports a user with each form. Returns the login of each form. */
async function importUsers(caller) {
  const logins = Object.fromEntries(Object.keys(IMPORTED).map((form, index) => [form, `imported-${index}`]));
  const row = async ([form, name]) => {
    const password_hash = await IMPORTED[form]();
    return JSON.stringify({
      user_type: 'carrier',
      carrier_id: 'c1',
      name,
      email: `${name}@example.com`,
      password_hash,
    });
  };
  const body = (await Promise.all(Object.entries(logins).map(row))).join('\n');
  const { operation } = await caller.carryOut('POST', '/user/import', { body, type: 'application/x-ndjson' });
  if (operation.skipped > 0) throw new Error(`import: ${JSON.stringify(operation)}`);
  const { items } = await caller.request('GET', `/user/list?name=${logins[VOIDED]}`);
  await caller.request('POST', `/user/${items[0].user_id}/secure`, { body: '{}' });
  return logins;
}

/** Sends a wrong password. @returns the milliseconds until the response */
async function timeRejectedLogin(service, login) {
  const body = JSON.stringify({ login, password: `${PASSWORD}!` });
  const headers = { 'content-type': 'application/json' };
  const start = performance.now();
  const response = await fetch(`${service.url}/auth/login`, { method: 'POST', headers, body });
  await response.text();
  const took = performance.now() - start;
  if (response.status !== 401) throw new Error(`login of ${login}: ${response.status}`);
  return took;
}

/** @returns the times of each form */
async function measure({ database: { client }, service }, logins) {
  const forms = Object.keys(logins);
  const times = Object.fromEntries(forms.map((form) => [form, []]));
  for (let round = -WARM_UP_ROUNDS; round < samples; round++) {
    // Otherwise the account lockout would respond with 429 after five rounds.
    await client.query('delete from login_attempts');
    const rest = [...forms];
    while (rest.length > 0) {
      const [form] = rest.splice(randomInt(rest.length), 1);
      const took = await timeRejectedLogin(service, logins[form]);
      if (round >= 0) times[form].push(took);
    }
  }
  return times;
}

function report(times) {
  const lines = Object.entries(times).map(([form, own]) => {
    const figures = [0.5, 0.95].map((share) => quantile(own, share).toFixed(1));
    if (form === UNKNOWN) return [form, ...figures, '–', ''];
    const auc = aucOf(own, times[UNKNOWN]);
    return [form, ...figures, auc.toFixed(3), auc >= AUC_MIN && auc <= AUC_MAX ? 'yes' : 'NO'];
  });
  return grid(['stored form', 'p50 ms', 'p95 ms', 'AUC', `${AUC_MIN}..${AUC_MAX}`], lines, [0, 4]);
}

async function main() {
  const stage = await prepare({ users: 1_000 });
  const { database, service } = stage;
  const nameOf = async (condition) => (await choose(database.client, condition, 1))[0].name;
  const administrator = { name: await nameOf(`'administrator' = any(roles)`) };
  const { access_token } = await new Logins(service.url, []).open(administrator);
  const logins = {
    [UNKNOWN]: 'unknown-user',
    'own Argon2id': await nameOf(`status = 'active' and user_type = 'carrier'`),
    disabled: await nameOf(`status = 'disabled'`),
    'without a password': await nameOf(`status = 'invited'`),
    ...(await importUsers(new Operations(service.url, access_token))),
  };
  console.log(`\n${stage.about}\n\n${report(await measure(stage, logins))}\n`);
  console.log(aucNote(samples));
}

run(main);
