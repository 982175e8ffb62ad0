// `npm run bench:timing`: measures for each form of stored hash whether the time of a rejected
// login reveals that the user exists.
//   --samples 300 (of each form)
// Imports a user with each form into one instance of the service. Then sends wrong passwords over a
// real socket, one at a time. Each round sends one for each form, in random order.
// AUC is the probability that a rejected login of a form takes longer than a rejected login of an
// unknown user: 0.5 if the time reveals nothing.
const { createHash, pbkdf2Sync, randomBytes, randomInt, scryptSync } = require('node:crypto');
const { parseArgs } = require('node:util');
const { hash: hashArgon2 } = require('@node-rs/argon2');
const { hash: hashBcrypt } = require('@node-rs/bcrypt');
const { choose, PASSWORD } = require('./fill');
const { quantile } = require('./report');
const { prepare, run, tell } = require('./stage');

const AUC_MIN = 0.45;
const AUC_MAX = 0.55;
const WARM_UP_ROUNDS = 3;
const TELL_EVERY = 20;
const UNKNOWN = 'unknown user';
/** The password of this user is voided after the import. */
const VOIDED = 'voided password';
const JSON_HEADERS = { 'content-type': 'application/json' };

const { values: options } = parseArgs({ options: { samples: { type: 'string', default: '300' } } });
const samples = Number(options.samples);

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

async function post(url, headers, body) {
  const response = await fetch(url, { method: 'POST', headers, body });
  return { status: response.status, body: await response.text() };
}

/** Imports the users over HTTP, as an administrator. @returns the login of each form */
async function importUsers(service, administrator) {
  const credentials = JSON.stringify({ login: administrator.name, password: PASSWORD });
  const { body } = await post(`${service.url}/auth/login`, JSON_HEADERS, credentials);
  const rows = await Promise.all(
    Object.values(IMPORTED).map(async (make, index) => {
      const name = `imported-${index}`;
      return {
        user_type: 'carrier',
        carrier_id: 'c1',
        name,
        email: `${name}@example.com`,
        password_hash: await make(),
      };
    }),
  );
  const headers = { 'content-type': 'application/x-ndjson', authorization: `Bearer ${JSON.parse(body).access_token}` };
  const file = rows.map((row) => JSON.stringify(row)).join('\n');
  const imported = await post(`${service.url}/user/import`, headers, file);
  if (JSON.parse(imported.body).changed !== rows.length) throw new Error(`import: ${imported.status} ${imported.body}`);
  const voided = `imported-${Object.keys(IMPORTED).indexOf(VOIDED)}`;
  const found = await fetch(`${service.url}/user/list?name=${voided}`, { headers });
  const [{ user_id }] = (await found.json()).items;
  const json = { ...JSON_HEADERS, authorization: headers.authorization };
  const secured = await post(`${service.url}/user/${user_id}/secure`, json, '{}');
  if (secured.status !== 200) throw new Error(`secure: ${secured.status} ${secured.body}`);
  return Object.fromEntries(Object.keys(IMPORTED).map((form, index) => [form, `imported-${index}`]));
}

/** Sends a wrong password. @returns the milliseconds until the response */
async function timeRejectedLogin(service, login) {
  const body = JSON.stringify({ login, password: `${PASSWORD}!` });
  const start = performance.now();
  const { status } = await post(`${service.url}/auth/login`, JSON_HEADERS, body);
  const took = performance.now() - start;
  if (status !== 401) throw new Error(`login of ${login}: ${status}`);
  return took;
}

function shuffled(items) {
  const rest = [...items];
  return items.map(() => rest.splice(randomInt(rest.length), 1)[0]);
}

/** @returns the times of each form */
async function measure({ database: { client }, service }, logins) {
  const forms = Object.keys(logins);
  const times = Object.fromEntries(forms.map((form) => [form, []]));
  for (let round = -WARM_UP_ROUNDS; round < samples; round++) {
    // Otherwise the account lockout would respond with 429 after five rounds.
    await client.query('delete from login_attempts');
    for (const form of shuffled(forms)) {
      const took = await timeRejectedLogin(service, logins[form]);
      if (round >= 0) times[form].push(took);
    }
    if (round >= 0 && (round + 1) % TELL_EVERY === 0) tell(`round ${round + 1} of ${samples}`);
  }
  return times;
}

/** Returns the probability that a value of the first list exceeds a value of the second list. */
function aucOf(first, second) {
  const more = first.flatMap((one) => second.map((other) => (one > other ? 1 : one === other ? 0.5 : 0)));
  return more.reduce((sum, value) => sum + value, 0) / more.length;
}

function report(times) {
  const width = Math.max(...Object.keys(times).map((form) => form.length));
  const lines = Object.entries(times).map(([form, own]) => {
    const [p50, p95] = [0.5, 0.95].map((share) => quantile(own, share).toFixed(1).padStart(8));
    const auc = aucOf(own, times[UNKNOWN]);
    const met = form === UNKNOWN ? '' : auc >= AUC_MIN && auc <= AUC_MAX ? 'yes' : 'NO';
    return `${form.padEnd(width)}  ${p50}  ${p95}  ${form === UNKNOWN ? '    –' : auc.toFixed(3)}  ${met}`;
  });
  const head = `${'stored form'.padEnd(width)}    p50 ms    p95 ms    AUC  ${AUC_MIN}..${AUC_MAX}`;
  return [head, ...lines].join('\n');
}

async function main() {
  const stage = await prepare({ users: 1_000 });
  const { client } = stage.database;
  const [administrator] = await choose(client, `'administrator' = any(roles)`, 1);
  const [own] = await choose(client, `status = 'active' and user_type = 'carrier'`, 1);
  const [disabled] = await choose(client, `status = 'disabled'`, 1);
  const [invited] = await choose(client, `status = 'invited'`, 1);
  const logins = {
    [UNKNOWN]: 'unknown-user',
    'own Argon2id': own.name,
    disabled: disabled.name,
    'without a password': invited.name,
    ...(await importUsers(stage.service, administrator)),
  };
  const times = await measure(stage, logins);
  // Standard deviation for two equal distributions (Mann-Whitney U).
  const deviation = Math.sqrt((2 * samples + 1) / (12 * samples ** 2));
  console.log(`\n${stage.about}\n\n${report(times)}\n`);
  const chance = `The standard deviation of an AUC of 0.5 is ${deviation.toFixed(3)}.`;
  console.log(`${samples} samples of each form. ${chance}`);
}

run(main);
