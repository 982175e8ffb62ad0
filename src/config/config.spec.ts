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

const wrong: [string, Record<string, string>, string[]][] = [
  ['a port that is not a number', { PORT: 'abc' }, ['PORT']],
  ['a port out of range', { PORT: '65536' }, ['PORT']],
  ['a blank port', { PORT: ' ' }, ['PORT']],
  ['trusted proxies without addresses', { TRUST_PROXY: 'true' }, ['TRUST_PROXY']],
  ['a proxy that is not a CIDR', { TRUST_PROXY: '10.0.0.0/8,proxy.internal' }, ['TRUST_PROXY']],
  ['a database without a secret', { DATABASE_URL: nowhere }, ['APP_SECRET']],
  ['an empty secret', { DATABASE_URL: nowhere, APP_SECRET: '' }, ['APP_SECRET']],
  [
    'a weak previous secret',
    { APP_SECRET: appSecret, APP_SECRET_PREVIOUS: 'changeme' },
    ['APP_SECRET_PREVIOUS', 'APP_SECRET_PREVIOUS'],
  ],
  ['the same secret twice', { APP_SECRET: appSecret, APP_SECRET_PREVIOUS: appSecret }, ['APP_SECRET_PREVIOUS']],
  ['a previous secret without a secret', { APP_SECRET_PREVIOUS: appSecret }, ['APP_SECRET_PREVIOUS']],
  [
    'a database other than PostgreSQL',
    { DATABASE_URL: 'mysql://127.0.0.1/x', APP_SECRET: appSecret },
    ['DATABASE_URL'],
  ],
  [
    'a database port out of range',
    { DATABASE_URL: 'postgres://u@127.0.0.1:70000/x', APP_SECRET: appSecret },
    ['DATABASE_URL'],
  ],
  [
    'a database password without URL encoding',
    { DATABASE_URL: 'postgres://u:p@ss#w@127.0.0.1/x', APP_SECRET: appSecret },
    ['DATABASE_URL'],
  ],
  ['a direct URL without a database URL', { DATABASE_DIRECT_URL: nowhere }, ['DATABASE_DIRECT_URL']],
  ['an administrator password without an address', { ADMIN_PASSWORD: 'correct horse battery staple' }, ['ADMIN_EMAIL']],
  ['an invalid e-mail address', { ADMIN_EMAIL: 'administrator' }, ['ADMIN_EMAIL']],
  ['a public URL with a path', { PUBLIC_URL: 'https://identity.example.net/identity' }, ['PUBLIC_URL']],
  ['a base path without a slash', { BASE_PATH: 'identity' }, ['BASE_PATH']],
  ['an unknown log level', { LOG_LEVEL: 'verbose' }, ['LOG_LEVEL']],
  ['a wildcard origin', { CORS_ORIGINS: '*' }, ['CORS_ORIGINS']],
  ['a minimum password length below 8', { PASSWORD_MIN_LENGTH: '4' }, ['PASSWORD_MIN_LENGTH']],
  ['an SMTP address that is not a URL', { SMTP_URL: 'localhost:25' }, ['SMTP_URL']],
  ['a fraction of a second', { ACCESS_TOKEN_TTL_SECONDS: '0.5' }, ['ACCESS_TOKEN_TTL_SECONDS']],
  ['a page without a token', { RESET_PAGE_URL: 'https://portal.example.net/reset' }, ['RESET_PAGE_URL']],
  ['a free port without a public URL', { PORT: '0' }, ['PUBLIC_URL']],
  [
    'many faults at once',
    {
      PORT: 'abc',
      BASE_PATH: 'x',
      DATABASE_URL: 'x',
      DATABASE_POOL_MAX: '0',
      APP_SECRET: 'secret',
      TRUST_PROXY: 'true',
      LOG_LEVEL: 'loud',
    },
    ['PORT', 'BASE_PATH', 'DATABASE_URL', 'DATABASE_POOL_MAX', 'APP_SECRET', 'APP_SECRET', 'TRUST_PROXY', 'LOG_LEVEL'],
  ],
];

it.each(wrong)('rejects %s (F27)', (_name, environment, faults) => {
  expect(faultsOf(environment)).toEqual(faults);
});

const weak = [
  'secret',
  'changeme',
  'x'.repeat(64),
  'changeme1234567890changeme1234567890',
  'change-me-please-0123456789-abcdefgh',
  'your-super-secret-jwt-token-with-at-least-32-characters-long',
  'replace-this-with-a-long-random-string-1',
  'my-secret-that-everybody-knows-2024-abc',
  'Passw0rd-Password-1234567890-abcdefg',
  '0123456789abcdef0123456789abcdef',
  'this-is-an-example-secret-0123456789',
];

it.each(weak)('rejects the weak secret %s (J13)', (APP_SECRET) => {
  expect(new Set(faultsOf({ DATABASE_URL: nowhere, APP_SECRET }))).toEqual(new Set(['APP_SECRET']));
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
