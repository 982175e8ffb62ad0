import { availableParallelism } from 'node:os';
import addressparser from 'nodemailer/lib/addressparser';
import { z } from 'zod';
import { canonicalEmail, isEmailAddress } from '../../http/fields/email-address';
import { poolMinPerWorker } from '../instance';
import { isAddressOrCidr } from '../ip';
import { breachedSource, postgresUrl, secret, smtpUrl } from './setting-forms';
import { visibleText } from '../text-forms';
import { isPasskeyOrigin, isRpId } from './webauthn';

/** Accepts digits only. `Number` would also accept blanks, `1e3` and `0x10`. */
const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,10}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));
const seconds = (fallback: number, max = 31_536_000, min = 1) => integer(min, max).default(fallback);
/** Accepts a number of days; 0 = never. */
const days = (fallback: number, min = 1) =>
  integer(0, 36_500)
    .refine((count) => count === 0 || count >= min, `must be 0 or at least ${min}`)
    .default(fallback);
const perMinute = (fallback: number) => integer(0, 1_000_000).default(fallback);
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
 * Returns whether a text is one sender, with or without a display name. Allows the domain
 * `localhost` for mail catchers, although `isEmailAddress` rejects it.
 */
function isSender(text: string): boolean {
  const [sender, ...others] = addressparser(text);
  const address = sender?.address?.replace(/@localhost$/, '@localhost.localdomain') ?? '';
  return others.length === 0 && isEmailAddress(canonicalEmail(address));
}
const flag = (fallback: 'true' | 'false') =>
  z
    .enum(['true', 'false'])
    .default(fallback)
    .transform((text) => text === 'true');
const displayName = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => visibleText.test(text) && text.trim() !== '', 'must contain visible characters only');
const httpUrl = (text: string) => /^https?:\/\/[^\s/?#]+$/.test(text) && URL.canParse(text);
const webUrl = z.string().regex(/^https?:\/\/\S+$/, 'must be an http(s) URL');
const pageUrl = webUrl.refine((url) => url.includes('{token}'), 'must contain {token}').optional();

/**
 * Maximum lifetime of an access token, independent of the configuration. A retired signing key
 * verifies tokens at least this long.
 */
export const accessTokenLifeMaxSeconds = 3_600;

/** Days for which an operation can be undone. An undo reads the operation and its events. */
export const undoDays = 30;

/** Maximum number of wrong passwords in a row (NIST SP 800-63B §3.2.2). */
const lockoutFailuresMax = 100;
const lockoutMaxSeconds = 86_400;
const workersMax = 64;
const environmentColors = ['gray', 'blue', 'green', 'yellow', 'red', 'violet'] as const;
const workersForm = `must be a whole number from 1 to ${workersMax}, or auto`;

const protocol = z.enum(['http/protobuf']).default('http/protobuf');

/** The main variables of OpenTelemetry. Its packages read these and all others. */
const traceSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: webUrl
    .optional()
    .describe(
      'Base URL of an OpenTelemetry collector, such as `http://collector:4318`; `/v1/traces` is appended; ' +
        'unset: no traces (docs/monitoring.md)',
    ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webUrl
    .optional()
    .describe('Complete URL for traces, instead of `OTEL_EXPORTER_OTLP_ENDPOINT`'),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.describe('Protocol of the collector; only `http/protobuf`'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.describe('Protocol for traces; only `http/protobuf`'),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .optional()
    .describe('Headers for the collector, such as `authorization=Bearer%20…`'),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none']).default('otlp').describe('`none` turns traces off'),
  OTEL_SDK_DISABLED: flag('false').describe('`true` turns traces off'),
  OTEL_SERVICE_NAME: z.string().optional().describe('Name of the service in traces; unset: `carrier-identity`'),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .optional()
    .describe(
      'Sampler; `parentbased_…` follows the decision of the caller, if there is one; unset: ' +
        '`parentbased_always_on`, but only a tenth of the token checks that begin a trace is recorded',
    ),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1')
    .optional()
    .describe('Share of recorded traces for `…traceidratio`, from 0 to 1'),
};

/**
 * All settings with name, format, default and description. `docs/config.md` and `.env.example` are
 * generated from it.
 */
export const settings = z.object({
  PORT: integer(0, 65_535).default(3000).describe('Port to listen on; 0 selects a free port'),
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
      'Public origin of the service, without a path. The base of links in mails and of error types, ' +
        'and with `BASE_PATH` the issuer of tokens; default: `http://localhost:PORT`',
    ),
  DATABASE_URL: postgresUrl.describe(
    'PostgreSQL 15 or newer, also behind PgBouncer in transaction mode; `sslmode` and `sslrootcert` set up TLS ' +
      '(docs/database.md); several hosts as in `postgres://h1,h2:5433/db?target_session_attrs=read-write`: the ' +
      'service uses the primary; unset: an embedded server with its data in `DATA_DIR`',
  ),
  DATABASE_DIRECT_URL: postgresUrl.describe(
    'URL of the same database that bypasses the pooler, for migrations, jobs and notifications; ' +
      'required behind a pooler such as PgBouncer; default: `DATABASE_URL`',
  ),
  DATABASE_REPLICA_URL: postgresUrl.describe(
    'URL of a standby of the same database, without a pooler, for exports, statistics, the audit log and lists of ' +
      'users (docs/high-availability.md)',
  ),
  REPLICA_LAG_MAX_MS: integer(500, 60_000)
    .default(1_000)
    .describe('Maximum age of the state of the standby in milliseconds, 500 to 60000; otherwise, the primary is read'),
  DATABASE_POOL_MAX: integer(poolMinPerWorker, 1_000)
    .default(10)
    .describe('Maximum size of the connection pool of an instance, divided among its workers, at least 4 each'),
  LIVE_LOGIN_LEASE_SECONDS: seconds(5, 300, 2).describe(
    'How long the service checks tokens after the last commit that the database server acknowledged, 2 to 300 ' +
      'seconds; a higher value bridges a longer stall of replication (docs/high-availability.md)',
  ),
  WORKERS: z
    .string()
    .regex(/^(auto|\d{1,2})$/, { error: workersForm, abort: true })
    .transform((text) => (text === 'auto' ? Math.min(availableParallelism(), workersMax) : Number(text)))
    .refine((count) => count >= 1 && count <= workersMax, workersForm)
    .default(1)
    .describe(
      'Number of processes that handle requests on one port, at most 64; `auto` = number of cores ' +
        '(docs/operations.md)',
    ),
  DATA_DIR: z
    .string()
    .min(1)
    .default('.data')
    .describe('Directory of the embedded database, the generated secret and the mail outbox'),
  APP_SECRET: secret().describe(
    'Secret of at least 32 bytes that protects signing keys at rest, cursors and refresh tokens; ' +
      'generated into `DATA_DIR` if `DATABASE_URL` is unset',
  ),
  APP_SECRET_PREVIOUS: secret().describe(
    'The other secret while `APP_SECRET` is being changed: data protected with it stays valid (docs/operations.md)',
  ),
  SMTP_URL: smtpUrl.describe(
    'Mail server as `smtp://` or `smtps://` URL, with user and password if it requires them; ' +
      'unset: mails are written to `DATA_DIR/outbox/*.eml`',
  ),
  MAIL_FROM: z
    .string()
    .max(320)
    .regex(/^[^\r\n]+$/)
    .refine(isSender, 'must contain one e-mail address, as in `Carrier Identity <no-reply@example.net>`')
    .default('Carrier Identity <no-reply@localhost>')
    .describe('Sender of all mails, with or without a display name'),
  PRODUCT_NAME: displayName(64)
    .default('carrier-identity')
    .describe('Name of the platform in the console, in mails and on the pages behind mailed links'),
  ENVIRONMENT_NAME: displayName(24)
    .optional()
    .describe('Name of the environment, such as `Staging`, for a badge in the console; unset: no badge'),
  ENVIRONMENT_COLOR: z
    .enum(environmentColors, `must be one of ${environmentColors.join(', ')}`)
    .default('gray')
    .describe(`Color of the badge: ${environmentColors.map((color) => `\`${color}\``).join(', ')}`),
  ADMIN_EMAIL: z
    .string()
    .transform(canonicalEmail)
    .refine(isEmailAddress, 'must be an e-mail address')
    .optional()
    .describe('E-mail address of the first administrator; used only on an empty database'),
  ADMIN_PASSWORD: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Password of the first administrator; unset: a one-time link to set it is printed'),
  PASSWORD_MIN_LENGTH: integer(8, 64).default(15).describe('Minimum number of characters in a password, 8 to 64'),
  BREACHED_PASSWORDS: breachedSource.describe(
    'Base URL of a service with the range protocol of Have I Been Pwned, such as `https://api.pwnedpasswords.com`, ' +
      'or a folder with its range files (docs/operations.md); breached passwords are rejected as new passwords; ' +
      'unset: passwords are not looked up',
  ),
  ACCESS_TOKEN_TTL_SECONDS: seconds(600, accessTokenLifeMaxSeconds).describe(
    'Lifetime of an access token, at most one hour',
  ),
  REFRESH_GRACE_SECONDS: integer(0, 60)
    .default(10)
    .describe('Grace period in which the previous refresh token still returns the current one, 0 to 60 seconds'),
  RESET_TOKEN_TTL_SECONDS: seconds(3_600, 86_400).describe('Lifetime of a password reset link, at most one day'),
  INVITE_TOKEN_TTL_SECONDS: seconds(604_800, 2_592_000).describe('Lifetime of an invitation link, at most 30 days'),
  SYSTEM_USER_SESSION_IDLE_SECONDS: seconds(3_600).describe(
    'Time without a request after which a System User session expires',
  ),
  SYSTEM_USER_SESSION_ABSOLUTE_SECONDS: seconds(86_400).describe('Time after login when a System User session expires'),
  CARRIER_USER_SESSION_IDLE_SECONDS: seconds(86_400).describe(
    'Time without a request after which a Carrier User session expires',
  ),
  CARRIER_USER_SESSION_ABSOLUTE_SECONDS: seconds(2_592_000).describe(
    'Time after login when a Carrier User session expires',
  ),
  FRESH_AUTH_SECONDS: seconds(300, 86_400, 60).describe(
    'Time after a login or reauthentication in which the user may call sensitive operations ' +
      '(`x-fresh-auth` in the API document); afterwards they require another reauthentication',
  ),
  SESSIONS_PER_USER_MAX: integer(1, 1_000)
    .default(20)
    .describe('Maximum number of live sessions per user; a further login ends the least recently used session'),
  LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: perMinute(30).describe(
    'Maximum number of logins, reauthentications and password resets per address and minute; 0 = no limit',
  ),
  LOCKOUT_THRESHOLD: integer(1, lockoutFailuresMax)
    .default(5)
    .describe(
      'Number of wrong passwords in a row after which an account is locked; wrong codes of second factors have their ' +
        'own counter with the same limits',
    ),
  LOCKOUT_FIRST_SECONDS: seconds(30, lockoutMaxSeconds).describe(
    'Duration of the first lockout; each further wrong password or code doubles it',
  ),
  LOCKOUT_MAX_SECONDS: seconds(3_600, lockoutMaxSeconds).describe(
    'Maximum duration of an account lockout, at most one day',
  ),
  LOCKOUT_HARD_LIMIT: integer(1, lockoutFailuresMax)
    .default(100)
    .describe(
      'Number of wrong passwords in a row after which only a password reset or an administrator unlocks the ' +
        'account, at most 100 (NIST SP 800-63B); after as many wrong codes, codes stay locked until a passkey ' +
        'or recovery code is used or an administrator unlocks the user',
    ),
  WEBAUTHN_RP_ID: z
    .string()
    .refine(isRpId, 'must be a domain in lower case, such as example.net, and no IP address')
    .optional()
    .describe(
      'Domain that passkeys belong to (RP id): the host of the pages that use passkeys, or a parent domain of it; ' +
        'with another domain, existing passkeys stop working; ' +
        'default: the host of `PUBLIC_URL`; if that is an IP address, passkeys are off',
    ),
  WEBAUTHN_ORIGINS: list(
    isPasskeyOrigin,
    'must be comma-separated origins such as https://portal.example.net; HTTP works only on localhost',
  ).describe(
    'Comma-separated origins of the pages that may use passkeys; `/.well-known/webauthn` lists them; ' +
      'default: the origin of `PUBLIC_URL`',
  ),
  REQUESTS_PER_ADDRESS_PER_MINUTE: perMinute(600).describe(
    'Maximum number of requests without a valid token per address and minute; 0 = no limit',
  ),
  DELETED_USER_DAYS: days(90).describe(
    'Days after which deleted users are purged, including their values in the audit log; 0 = never',
  ),
  AUDIT_DAYS: days(400, undoDays).describe(
    'Days after which events of the audit log are hidden, and removed later; ' +
      `0 = never, otherwise at least ${undoDays}, because an undo reads them`,
  ),
  CHANGE_DAYS: integer(1, 3_650)
    .default(30)
    .describe('Days for which cursors of the change feed are valid; at most `AUDIT_DAYS`'),
  OPERATION_DAYS: days(90, undoDays).describe(
    'Days after which finished operations are removed; ' +
      `0 = never, otherwise at least ${undoDays}, because an undo reads them`,
  ),
  RESET_PAGE_URL: pageUrl.describe(
    'Page of a portal for setting a password, with `{token}`; unset: the page of the service',
  ),
  EMAIL_PAGE_URL: pageUrl.describe(
    'Page of a portal for confirming an e-mail address, with `{token}`; unset: the page of the service',
  ),
  PORTAL_URL: webUrl
    .optional()
    .describe(
      'Portal that mails and pages link to; unset: mails link to the service, and pages to the login of the console',
    ),
  TOKEN_AUDIENCES: list((name) => /^[!-~]{1,64}$/.test(name), 'must be comma-separated names').describe(
    'Comma-separated names that logins may request as `audience`, besides `carrier-platform` (docs/portals.md)',
  ),
  TRUST_PROXY: list(isAddressOrCidr, 'must be comma-separated CIDRs').describe(
    'Comma-separated CIDRs of the proxies whose `X-Forwarded-For` header is trusted',
  ),
  CORS_ORIGINS: list(httpUrl, 'must be comma-separated origins such as https://portal.example.net').describe(
    'Comma-separated browser origins that may call the service',
  ),
  WEBHOOK_ALLOWED_NETWORKS: list(isAddressOrCidr, 'must be comma-separated CIDRs').describe(
    'Comma-separated CIDRs of non-public networks that webhooks may reach, also without TLS; ' +
      'unset: webhooks reach public addresses by HTTPS only',
  ),
  CONSOLE: flag('true').describe('Whether the service serves the web console below `/console/`'),
  SHUTDOWN_DELAY_SECONDS: integer(0, 300)
    .default(0)
    .describe(
      'Time from SIGTERM until the listener closes: the service is not ready, but still handles requests ' +
        '(5 in the image, docs/operations.md)',
    ),
  METRICS_PORT: integer(1, 65_535)
    .optional()
    .describe('Port that serves `/metrics` for Prometheus without authentication; unset: no such port'),
  METRICS_TOKEN: secret().describe(
    'Secret of at least 32 bytes that clients send as `Authorization: Bearer …` to read `/metrics` on `PORT`; ' +
      'unset: no such path',
  ),
  ...traceSettings,
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Minimum level of the JSON log on stdout: `fatal`, `error`, `warn`, `info`, `debug`, `trace`, `silent`'),
});

/** The settings as given, without defaults that depend on other settings or the running service. */
export type Settings = z.infer<typeof settings>;

/**
 * Settings that contain secrets. Each can be read from a file that `<name>_FILE` names.
 * A URL contains the password of its user.
 */
export const secretSettings = [
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_REPLICA_URL',
  'APP_SECRET',
  'APP_SECRET_PREVIOUS',
  'SMTP_URL',
  'ADMIN_PASSWORD',
  'METRICS_TOKEN',
] as const satisfies (keyof Settings)[];
