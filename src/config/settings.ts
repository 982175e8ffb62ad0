import { z } from 'zod';
import { canonicalEmail, isEmailAddress } from '../common/http/email-address';
import { isAddressOrCidr } from '../common/ip';

/**
 * Digits only: what JavaScript takes for a number besides (blanks, `1e3`, `0x10`) is a mistake
 * here.
 */
const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,10}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));
const seconds = (fallback: number, max = 31_536_000) => whole(1, max).default(fallback);
const perMinute = (fallback: number) => whole(0, 1_000_000).default(fallback);
const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: 'must begin with postgres://', abort: true })
  .refine(
    (text) => URL.canParse(text) && new URL(text).hash === '',
    'must be a URL: in a password `@ : / ? #` are %40 %3A %2F %3F %23',
  )
  .optional();
const list = (test: (item: string) => boolean, wants: string) =>
  z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .refine((items) => items.every(test), wants);
/**
 * What stands in examples and generators' templates, and one piece said over and over: long enough,
 * and known to everybody.
 */
const placeholder =
  /256.?bit|change.?(me|this|it)|replace.?(me|this)|your.{0,20}(secret|key)|(super|my|top|very).?secret|example|placeholder|default|passw(or)?d/i;
const repetition = /^(.{1,16})\1+.{0,15}$/;
/** A secret of at least 32 bytes that is none of those that everybody knows. */
const secret = () =>
  z
    .string()
    .refine((text) => Buffer.byteLength(text) >= 32, 'must have at least 32 bytes')
    .refine(
      (text) => new Set(text).size >= 10 && !placeholder.test(text) && !repetition.test(text),
      'is too simple: make one with `openssl rand -base64 32`',
    )
    .optional();
const httpUrl = (text: string) => /^https?:\/\/[^\s/?#]+$/.test(text);
const pageUrl = z
  .string()
  .regex(/^https?:\/\/\S+$/, 'must be an http(s) URL')
  .refine((url) => url.includes('{token}'), 'must contain {token}')
  .optional();

/**
 * No access token lives longer, however the instances are configured: a key verifies for so long
 * after it has signed for the last time.
 */
export const accessTokenLifeMaxSeconds = 3_600;

/**
 * Every setting: name, form, default and meaning. `docs/config.md` and `.env.example` are made from
 * this.
 */
export const settings = z.object({
  PORT: whole(0, 65_535).default(3000).describe('Port to listen on; 0 takes a free one'),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on (0.0.0.0 in the image)'),
  BASE_PATH: z
    .string()
    .regex(/^(\/[A-Za-z0-9._-]+)*$/, 'must be empty or like /identity')
    .default('')
    .describe('Prefix of every path, such as `/identity`'),
  PUBLIC_URL: z
    .string()
    .refine(httpUrl, 'must be like https://identity.example.net, without a path')
    .optional()
    .describe(
      'The only base of links in mails and of error types, and with `BASE_PATH` the issuer of tokens; without a path; `http://localhost:PORT` when unset',
    ),
  DATABASE_URL: postgresUrl.describe(
    'PostgreSQL 15 or newer, also behind PgBouncer in transaction mode; unset: an embedded one under `DATA_DIR`',
  ),
  DATABASE_DIRECT_URL: postgresUrl.describe(
    'Past the pooler, for migrations, jobs and notifications; `DATABASE_URL` when unset',
  ),
  DATABASE_POOL_MAX: whole(2, 1_000).default(10).describe('Connections per instance'),
  DATA_DIR: z.string().min(1).default('.data').describe('Embedded database, generated secret, outbox'),
  APP_SECRET: secret().describe(
    'At least 32 bytes: keys at rest, cursors, refresh tokens; generated into `DATA_DIR` when there is no `DATABASE_URL`',
  ),
  APP_SECRET_PREVIOUS: secret().describe(
    'While `APP_SECRET` is changed, the other one of the two: what was made with it is still good (docs/operations.md)',
  ),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must begin with smtp:// or smtps://')
    .optional()
    .describe(
      'Mail server, `smtp://` or `smtps://`, with user and password in it where they are needed; unset: mails are written to `DATA_DIR/outbox/*.eml`',
    ),
  MAIL_FROM: z
    .string()
    .min(3)
    .max(320)
    .regex(/^[^\r\n]+$/)
    .default('Carrier Identity <no-reply@localhost>')
    .describe('Sender of all mails'),
  ADMIN_EMAIL: z
    .string()
    .transform(canonicalEmail)
    .refine(isEmailAddress, 'must be an e-mail address')
    .optional()
    .describe('First administrator, used on an empty database only'),
  ADMIN_PASSWORD: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Password of the first administrator; unset: a one-time link to set it is printed'),
  PASSWORD_MIN_LENGTH: whole(8, 64).default(15).describe('Least number of characters of a password, 8 to 64'),
  ACCESS_TOKEN_TTL_SECONDS: seconds(600, accessTokenLifeMaxSeconds).describe(
    'Life of an access token, at most an hour',
  ),
  REFRESH_GRACE_SECONDS: whole(0, 60)
    .default(10)
    .describe('How long the refresh token before the current one still answers with the current one, 0 to 60 seconds'),
  RESET_TOKEN_TTL_SECONDS: seconds(3_600, 86_400).describe('Life of a link to reset a password, at most a day'),
  INVITE_TOKEN_TTL_SECONDS: seconds(604_800, 2_592_000).describe('Life of an invitation, at most 30 days'),
  SYSTEM_USER_SESSION_IDLE_SECONDS: seconds(3_600).describe(
    'A System User session ends after this long without a request',
  ),
  SYSTEM_USER_SESSION_ABSOLUTE_SECONDS: seconds(86_400).describe('A System User session ends this long after login'),
  CARRIER_USER_SESSION_IDLE_SECONDS: seconds(86_400).describe(
    'A Carrier User session ends after this long without a request',
  ),
  CARRIER_USER_SESSION_ABSOLUTE_SECONDS: seconds(2_592_000).describe(
    'A Carrier User session ends this long after login',
  ),
  SESSIONS_PER_USER_MAX: whole(1, 1_000)
    .default(20)
    .describe('Live sessions per user; a login beyond it ends the least recently used one'),
  LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: perMinute(30).describe(
    'Logins and resets per address and minute; 0 = no limit',
  ),
  REQUESTS_PER_ADDRESS_PER_MINUTE: perMinute(600).describe(
    'Requests without a good token per address and minute; 0 = no limit',
  ),
  RESET_PAGE_URL: pageUrl.describe(
    "A portal's own page for setting a password, with `{token}`; unset: the service's page",
  ),
  EMAIL_PAGE_URL: pageUrl.describe(
    "A portal's own page for confirming an address, with `{token}`; unset: the service's page",
  ),
  TRUST_PROXY: list(isAddressOrCidr, 'must be a comma list of CIDRs').describe(
    'CIDRs of proxies whose `X-Forwarded-For` counts, with commas between them',
  ),
  CORS_ORIGINS: list(httpUrl, 'must be a comma list of origins such as https://portal.example.net').describe(
    'Browser origins that may call the service, with commas between them',
  ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe(
      'JSON lines on stdout from this level on: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
    ),
});

/** The settings as they were given, before what depends on the running service is known. */
export type Settings = z.infer<typeof settings>;
