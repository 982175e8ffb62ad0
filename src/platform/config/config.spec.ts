import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from './config';

const nowhere = 'postgres://user:not-to-be-shown@127.0.0.1:1/nowhere';
const appSecret = 'test-secret-0123456789-abcdefghijklmnop';

/** Returns the variables that the error lists, in its order. */
function faultsOf(environment: Record<string, string>): string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [heading, ...faults] = error.message.split('\n');
    expect(heading).toBe('The configuration is invalid:');
    expect(error.message).not.toContain('not-to-be-shown');
    return faults.map((fault) => /^ {2}- ([A-Z_]+): \S.{5,}$/.exec(fault)?.[1] ?? `unexpected: ${fault}`);
  }
}

/** Values of a setting that stop the start, whatever the other settings are. */
const wrongValues: Record<string, string[]> = {
  PORT: ['abc', '65536', ' '],
  WORKERS: ['0', '-1', '1.5', 'abc', '65', ' ', 'AUTO'],
  TRUST_PROXY: ['true', '10.0.0.0/8,proxy.internal'],
  WEBHOOK_ALLOWED_NETWORKS: ['true', '10.0.0.0/33', 'hooks.internal'],
  APP_SECRET_PREVIOUS: [appSecret],
  DATABASE_URL: [
    ...['mysql://127.0.0.1/x', 'postgres://u@127.0.0.1:70000/x', 'postgres://u:p@ss#w@127.0.0.1/x'],
    ...['postgres://u@127.0.0.1/x?sslmode=verify', 'postgres://u@127.0.0.1/x?sslrootcert=/nowhere/root.pem'],
  ],
  DATABASE_DIRECT_URL: [nowhere],
  ADMIN_EMAIL: ['administrator'],
  PUBLIC_URL: ['https://identity.example.net/identity', 'https://:443'],
  WEBAUTHN_RP_ID: ['192.0.2.7'],
  WEBAUTHN_ORIGINS: ['http://portal.example.net'],
  BASE_PATH: ['identity'],
  ENVIRONMENT_NAME: [' ', 'a\u0007b', 'x'.repeat(25)],
  ENVIRONMENT_COLOR: ['pink', '#ff0000'],
  LOG_LEVEL: ['verbose'],
  CORS_ORIGINS: ['*'],
  PASSWORD_MIN_LENGTH: ['4'],
  // Most of these passwords need URL encoding: the URL would end within them.
  SMTP_URL: [
    ...['localhost:25', 'smtp://', 'smtp://user:not-to-be-shown/x@mail.example.com:25'],
    ...['smtp://user:not-to-be-shown#x@mail.example.com', 'smtp://user:25/not-to-be-shown@mail.example.com'],
    ...['smtp://user:25?not-to-be-shown@mail.example.com', 'smtp://user:not-to-be-shown@mail.example.com:999999'],
  ],
  ACCESS_TOKEN_TTL_SECONDS: ['0.5'],
  MAIL_FROM: ['Carrier Identity', 'Carrier Identity <no-reply>', 'no-reply@example.net, other@example.net'],
  LOCKOUT_MAX_SECONDS: ['10'],
  LOCKOUT_HARD_LIMIT: ['4', '101'],
  AUDIT_DAYS: ['29', '1'],
  OPERATION_DAYS: ['29'],
  DELETED_USER_DAYS: ['-1'],
  APP_SECRET_FILE: ['/nowhere/not-to-be-shown'],
  ADMIN_PASSWORD_FILE: ['/dev/null'],
  RESET_PAGE_URL: ['https://portal.example.net/reset'],
  PORTAL_URL: ['portal.example.net'],
  SHUTDOWN_DELAY_SECONDS: ['301'],
  METRICS_PORT: ['0'],
  METRICS_TOKEN: [appSecret],
  BREACHED_PASSWORDS: [
    ...['https://user:not-to-be-shown@ranges.example.net', 'https://ranges.example.net/?key=not-to-be-shown'],
    ...['https://ranges.example.net/#range', 'https:///range', 'ftp://ranges.example.net', 'ranges.example.net'],
    ...['.', '/nowhere', __filename],
  ],
};

it.each(Object.entries(wrongValues))('rejects wrong values of %s, and shows no password (F27)', (name, values) => {
  for (const value of values)
    expect([value, faultsOf({ APP_SECRET: appSecret, [name]: value })]).toEqual([value, [name]]);
});

it.each<[string, Record<string, string>, string[]]>([
  ['a database without a secret', { DATABASE_URL: nowhere }, ['APP_SECRET']],
  ['an empty secret', { DATABASE_URL: nowhere, APP_SECRET: '' }, ['APP_SECRET']],
  ['a secret file that does not exist', { APP_SECRET_FILE: '/nowhere/not-to-be-shown' }, ['APP_SECRET_FILE']],
  ['a previous secret without a secret', { APP_SECRET_PREVIOUS: appSecret }, ['APP_SECRET_PREVIOUS']],
  ['an administrator password without an address', { ADMIN_PASSWORD: 'correct horse battery staple' }, ['ADMIN_EMAIL']],
  ['metrics on the port of the service', { PORT: '8080', METRICS_PORT: '8080' }, ['METRICS_PORT']],
  ['a weak metrics token', { METRICS_TOKEN: 'prometheus' }, ['METRICS_TOKEN', 'METRICS_TOKEN']],
  ['a token and its file', { METRICS_TOKEN: `${appSecret}-2`, METRICS_TOKEN_FILE: '/nowhere' }, ['METRICS_TOKEN_FILE']],
  ['a free port without a public URL', { PORT: '0' }, ['PUBLIC_URL']],
  [
    'many faults at once',
    { PORT: 'abc', BASE_PATH: 'x', DATABASE_URL: 'x', DATABASE_POOL_MAX: '3', APP_SECRET: 'secret', LOG_LEVEL: 'loud' },
    ['PORT', 'BASE_PATH', 'DATABASE_URL', 'DATABASE_POOL_MAX', 'APP_SECRET', 'APP_SECRET', 'LOG_LEVEL'],
  ],
])('rejects %s (F27)', (_name, environment, faults) => {
  expect(faultsOf(environment)).toEqual(faults);
});

const weak = [
  ...['secret', 'changeme', 'x'.repeat(64), 'changeme1234567890changeme1234567890', ' '.repeat(40), 'x'.repeat(31)],
  ...['change-me-please-0123456789-abcdefgh', 'your-super-secret-jwt-token-with-at-least-32-characters-long'],
  ...['replace-this-with-a-long-random-string-1', 'my-secret-that-everybody-knows-2024-abc'],
  ...['Passw0rd-Password-1234567890-abcdefg', '0123456789abcdef0123456789abcdef', 'secret'.repeat(7)],
  ...['this-is-an-example-secret-0123456789', 'a-string-secret-at-least-256-bits-long', '0123456789'.repeat(7)],
  ...['use-a-long-random-Password-here-1234', 'changeme-changeme-please-1234567890', 'your-256-bit-secret'.repeat(7)],
];

it.each(weak)('rejects the weak secret %s without repeating it (J13)', (APP_SECRET) => {
  expect(new Set(faultsOf({ DATABASE_URL: nowhere, APP_SECRET }))).toEqual(new Set(['APP_SECRET']));
  expect(() => loadConfig({ DATABASE_URL: nowhere, APP_SECRET })).not.toThrow(APP_SECRET);
});

it('accepts random secrets in common formats', () => {
  for (const APP_SECRET of [
    'u7Vn2yFq0bY3mJx9ZcQpLr5sTdWg8hKe1oAiXfM4NvE=',
    '9f1c64e2b07d3a8514fe2c9067bd135a',
    'correct.horse_battery,staple+and-47-more-words',
  ])
    expect(loadConfig({ DATABASE_URL: nowhere, APP_SECRET })).toMatchObject({
      APP_SECRET,
      embedded: false,
      PORT: 3000,
    });
});

it('reads numbers, zero included', () => {
  expect(
    loadConfig({ DATABASE_URL: nowhere, APP_SECRET: appSecret, PORT: '8080', REFRESH_GRACE_SECONDS: '0' }),
  ).toMatchObject({
    PORT: 8080,
    REFRESH_GRACE_SECONDS: 0,
    PUBLIC_URL: 'http://localhost:8080',
  });
});

it.each([
  ['https://ranges.example.net/', 'https://ranges.example.net'],
  ['http://127.0.0.1:8080/pwned//', 'http://127.0.0.1:8080/pwned'],
  [`${__dirname}/`, __dirname],
])('looks up breached passwords in %s', (given, used) => {
  expect(loadConfig({ APP_SECRET: appSecret, BREACHED_PASSWORDS: given }).BREACHED_PASSWORDS).toBe(used);
});

it.each(['Carrier <no-reply@example.net>', 'no-reply@example.net', 'no-reply@localhost', '"A, B" <a@b.example>'])(
  'accepts the sender %s',
  (MAIL_FROM) => expect(loadConfig({ APP_SECRET: appSecret, MAIL_FROM })).toMatchObject({ MAIL_FROM }),
);

it.each([
  'smtp://mail.example.net',
  'smtps://user%40example.net:s3cr%2Fet%23@mail.example.net:465/',
  'smtp://[::1]:25?requireTLS=true&tls.rejectUnauthorized=false',
])('accepts the mail server %s', (SMTP_URL) =>
  expect(loadConfig({ APP_SECRET: appSecret, SMTP_URL })).toMatchObject({ SMTP_URL }),
);

it('reads a secret from a file without the line break at its end', () => {
  const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-config-'));
  const file = join(directory, 'secret');
  writeFileSync(file, `${appSecret}\r\n`);
  expect(loadConfig({ APP_SECRET_FILE: file })).toMatchObject({ APP_SECRET: appSecret });
  rmSync(directory, { recursive: true });
});

it.each([
  ['sslmode=require', 'sslmode=verify-full'],
  ['sslmode=verify-ca&application_name=x', 'sslmode=verify-full&application_name=x'],
  ['sslmode=require&uselibpqcompat=true', 'sslmode=require&uselibpqcompat=true'],
  ['sslmode=no-verify', 'sslmode=no-verify'],
])('connects with %s as with %s', (given, used) => {
  const DATABASE_URL = `postgres://u@127.0.0.1/x?${given}`;
  expect(loadConfig({ DATABASE_URL, APP_SECRET: appSecret }).DATABASE_URL).toBe(`postgres://u@127.0.0.1/x?${used}`);
});

const warningsOf = (environment: Record<string, string>) =>
  loadConfig({ APP_SECRET: appSecret, ...environment }).warnings;

it.each([
  ['ACCESS_TOKEN_TTL', 'ACCESS_TOKEN_TTL_SECONDS'],
  ['SMPT_URL', 'SMTP_URL'],
  ['APP_SECRET_PREV', 'APP_SECRET_PREVIOUS'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['DATABASE_URL_FIEL', 'DATABASE_URL_FILE'],
  ['SESSION_IDLE_SECONDS', 'SYSTEM_USER_SESSION_IDLE_SECONDS'],
  ['MAIL_FROM_ADDRESS', 'MAIL_FROM'],
  ['BREACHED_PASSWORDS_FILE', 'BREACHED_PASSWORDS'],
])('warns about %s, which was probably meant to be %s', (given, meant) => {
  expect(warningsOf({ [given]: 'x' })).toEqual([`${given} is not a setting and has no effect: did you mean ${meant}?`]);
});

it('does not warn about variables of other programs', () => {
  const others = [
    ...['PATH', 'HOME', 'HOSTNAME', 'USER', 'LOGNAME', 'LANG', 'TERM', 'SHELL', 'TZ', 'NODE_ENV', 'NODE_VERSION'],
    ...['POSTGRES_PASSWORD', 'TEST_DATABASE_URL', 'PGHOST', 'npm_config_port', 'KUBERNETES_SERVICE_HOST', 'CI'],
    ...['SMTP_PORT_25_TCP_ADDR', 'DATABASE_SERVICE_HOST', 'XDG_DATA_DIRS', 'SSL_CERT_FILE', 'HTTP_PROXY', 'NO_COLOR'],
  ];
  expect(warningsOf(Object.fromEntries(others.map((name) => [name, 'x'])))).toEqual([]);
});

it.each(['SMTP_URL_\u001b[2K', 'SMTP_URL_\n{"level":"info"}', 'SMTP_URL_s3cr/et', 'SMTP_URL_\n'])(
  'does not log the variable name %j verbatim',
  (name) => expect(warningsOf({ [name]: 'x' })).toEqual([]),
);

it('starts a worker per core with `auto`, and warns if the pool is too small for the workers', () => {
  expect(loadConfig({ APP_SECRET: appSecret, WORKERS: 'auto' }).WORKERS).toBe(Math.min(availableParallelism(), 64));
  expect(warningsOf({ WORKERS: '64', DATABASE_POOL_MAX: '256' })).toEqual([]);
  expect(warningsOf({ WORKERS: '8', DATABASE_POOL_MAX: '31' })).toEqual([
    'DATABASE_POOL_MAX is 31, but 8 workers open up to 32 connections.',
  ]);
});

const PUBLIC_URL = 'https://identity.example.net';
const production = { NODE_ENV: 'production', PUBLIC_URL };
const [SMTP_URL, MAIL_FROM] = ['smtp://mail.example.net', 'no-reply@example.net'];

it('warns in production if users receive no mail', () => {
  expect(warningsOf({})).toEqual([]);
  expect(warningsOf(production)).toEqual([expect.stringMatching(/^SMTP_URL is not set/)]);
  expect(warningsOf({ ...production, SMTP_URL })).toEqual([expect.stringMatching(/^MAIL_FROM is /)]);
  expect(warningsOf({ ...production, SMTP_URL, MAIL_FROM })).toEqual([]);
});

it('warns in production if PUBLIC_URL is unset or not HTTPS', () => {
  const mail = { SMTP_URL, MAIL_FROM };
  const unencrypted = { PUBLIC_URL: 'http://identity.example.net' };
  expect(warningsOf({ ...unencrypted, ...mail })).toEqual([]);
  expect(warningsOf({ ...production, ...unencrypted, ...mail })).toEqual([
    expect.stringMatching(/^PUBLIC_URL is not an HTTPS origin/),
  ]);
  expect(warningsOf({ NODE_ENV: 'production', ...mail })).toEqual([expect.stringMatching(/^PUBLIC_URL is not an/)]);
});

it.each(['0.0.0.0/0', '128.0.0.0/1', '10.0.0.0/7', '::/0', '2000::/3', '::ffff:0.0.0.0/96', '::FFFF:0:0/100'])(
  'warns about the trusted proxies %s, because callers there forge their address (L9)',
  (network) => {
    const warning = expect.stringContaining(`TRUST_PROXY trusts ${network}:`) as string;
    expect(warningsOf({ TRUST_PROXY: `10.0.0.0/8,${network}` })).toEqual([warning]);
  },
);

it('does not warn about the usual networks of proxies', () => {
  const usual = ['10.0.0.0/8', '172.16.0.0/12', '127.0.0.1', '104.16.0.0/13', 'fc00::/7', 'fd00::/8', '2400:cb00::/32'];
  expect(warningsOf({ TRUST_PROXY: [...usual, '::1', '::ffff:10.0.0.0/104'].join() })).toEqual([]);
});
