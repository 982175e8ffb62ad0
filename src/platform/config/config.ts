import { randomBytes } from 'node:crypto';
import { accessSync, chmodSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hostUrls } from './host-urls';
import { readSecretFiles } from './secret-files';
import { type Settings, settings } from './settings';
import { warningsOf } from './warnings';
import { defaultRpId, originOf } from './webauthn';

/**
 * The validated configuration. Each field has the name of its environment variable; names contain
 * units.
 * @see docs/config.md
 */
export type Config = Omit<Settings, 'WEBAUTHN_RP_ID'> & {
  PUBLIC_URL: string;
  DATABASE_URL: string;
  DATABASE_DIRECT_URL: string;
  APP_SECRET: string;
  /** null if passkeys are off */
  WEBAUTHN_RP_ID: string | null;
  /** true if the service runs the embedded PostgreSQL */
  embedded: boolean;
  /** warnings about the environment, for the log */
  warnings: string[];
};

/** Injection token of the configuration. */
export const CONFIG = Symbol('CONFIG');

/** Reports an invalid environment. The message lists every fault. */
export class ConfigError extends Error {
  /** @param faults one text per fault, beginning with the name of its variable */
  constructor(faults: string[]) {
    super(`The configuration is invalid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
  }
}

/**
 * Reads and validates the environment and the file `.env`; the environment takes precedence.
 * Never falls back to a default for an invalid value.
 * @throws ConfigError listing every invalid variable
 */
export function loadConfig(environment?: NodeJS.ProcessEnv): Config {
  const given = readSecretFiles(withoutEmpty(environment ?? readEnvironment()));
  const read = settings.safeParse(given.environment);
  const faults = [
    ...given.faults,
    ...(read.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? []),
  ];
  if (read.success && faults.length === 0) faults.push(...crossFaults(read.data));
  if (!read.success || faults.length > 0) throw new ConfigError(faults);
  if (read.data.DATABASE_URL === undefined) makeWritable(read.data.DATA_DIR);
  const { DATABASE_URL = '', APP_SECRET, DATABASE_DIRECT_URL, ...rest } = read.data;
  const PUBLIC_URL = rest.PUBLIC_URL ?? `http://localhost:${rest.PORT}`;
  const origins = rest.WEBAUTHN_ORIGINS.length > 0 ? rest.WEBAUTHN_ORIGINS : [PUBLIC_URL];
  return {
    ...rest,
    embedded: DATABASE_URL === '',
    DATABASE_URL,
    DATABASE_DIRECT_URL: DATABASE_DIRECT_URL ?? DATABASE_URL,
    APP_SECRET: APP_SECRET ?? generatedSecret(rest.DATA_DIR),
    PUBLIC_URL,
    WEBAUTHN_RP_ID: rest.WEBAUTHN_RP_ID ?? defaultRpId(PUBLIC_URL),
    WEBAUTHN_ORIGINS: origins.map(originOf),
    warnings: warningsOf(given.environment, read.data),
  };
}

/** Returns the configuration with the URL of the embedded database. */
export function withDatabase(config: Config, url: string): Config {
  return { ...config, DATABASE_URL: url, DATABASE_DIRECT_URL: url };
}

/** Returns the public URL of the service, without a trailing slash. */
export function serviceUrl(config: Config): string {
  return `${config.PUBLIC_URL}${config.BASE_PATH}`;
}

/** Returns whether the service records traces. */
export function exportsTraces(config: Config): boolean {
  const endpoint = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
  return endpoint !== undefined && !config.OTEL_SDK_DISABLED && config.OTEL_TRACES_EXPORTER === 'otlp';
}

/** Returns the URL of the API explorer. */
export function docsUrl(config: Config): string {
  return `${serviceUrl(config)}/docs`;
}

/** Returns the URL of the console, with a trailing slash. */
export function consoleUrl(config: Config): string {
  return `${serviceUrl(config)}/console/`;
}

/** Returns the address that mails link to: the portal, or the root of the service. */
export function homeUrl(config: Config): string {
  return config.PORTAL_URL ?? `${serviceUrl(config)}/`;
}

/** Returns where the page of a mailed link leads: the portal, or the console if it is served. */
export function loginUrl(config: Config): string | undefined {
  return config.PORTAL_URL ?? (config.CONSOLE ? `${consoleUrl(config)}login` : undefined);
}

/** Returns where users request a new link for a password, unless a portal does that. */
export function newLinkUrl(config: Config): string | undefined {
  return config.PORTAL_URL === undefined && config.CONSOLE ? `${consoleUrl(config)}forgotten-password` : undefined;
}

function readEnvironment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return process.env;
}

function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}

function crossFaults(values: Settings): string[] {
  const faults: string[] = [];
  if (values.DATABASE_URL !== undefined && values.APP_SECRET === undefined)
    faults.push('APP_SECRET: must be set together with DATABASE_URL, the same for every instance');
  if (values.APP_SECRET_PREVIOUS !== undefined && values.APP_SECRET === undefined)
    faults.push('APP_SECRET_PREVIOUS: requires APP_SECRET, the secret that replaces it');
  if (values.APP_SECRET_PREVIOUS !== undefined && values.APP_SECRET_PREVIOUS === values.APP_SECRET)
    faults.push('APP_SECRET_PREVIOUS: must differ from APP_SECRET');
  if (values.DATABASE_URL === undefined && values.DATABASE_DIRECT_URL !== undefined)
    faults.push('DATABASE_DIRECT_URL: requires DATABASE_URL');
  if (values.DATABASE_URL === undefined && values.DATABASE_REPLICA_URL !== undefined)
    faults.push('DATABASE_REPLICA_URL: requires DATABASE_URL');
  if (values.DATABASE_REPLICA_URL !== undefined && hostUrls(values.DATABASE_REPLICA_URL).length > 1)
    faults.push('DATABASE_REPLICA_URL: must have one host, a standby');
  if (values.ADMIN_PASSWORD !== undefined && values.ADMIN_EMAIL === undefined)
    faults.push('ADMIN_EMAIL: must be set together with ADMIN_PASSWORD');
  if (values.LOCKOUT_MAX_SECONDS < values.LOCKOUT_FIRST_SECONDS)
    faults.push('LOCKOUT_MAX_SECONDS: must be at least LOCKOUT_FIRST_SECONDS');
  if (values.LOCKOUT_HARD_LIMIT < values.LOCKOUT_THRESHOLD)
    faults.push('LOCKOUT_HARD_LIMIT: must be at least LOCKOUT_THRESHOLD');
  if (values.AUDIT_DAYS !== 0 && values.CHANGE_DAYS > values.AUDIT_DAYS)
    faults.push('CHANGE_DAYS: must be at most AUDIT_DAYS');
  if (values.PORT === 0 && values.PUBLIC_URL === undefined) faults.push('PUBLIC_URL: must be set when PORT is 0');
  if (values.METRICS_PORT !== undefined && values.METRICS_PORT === values.PORT)
    faults.push('METRICS_PORT: must differ from PORT');
  const secrets = [values.APP_SECRET, values.APP_SECRET_PREVIOUS];
  if (values.METRICS_TOKEN !== undefined && secrets.includes(values.METRICS_TOKEN))
    faults.push('METRICS_TOKEN: must differ from APP_SECRET, because monitoring systems store it');
  return faults;
}

/** Below /proc, Node's `recursive` creates the parent directory again and again, without an end. */
function makeDirectory(path: string): void {
  if (!existsSync(path)) makeDirectory(dirname(path));
  mkdirSync(path, { recursive: existsSync(path), mode: 0o711 });
}

/** Creates the directory of the service. @throws ConfigError if this process cannot write to it */
function makeWritable(dataDir: string): void {
  try {
    makeDirectory(dataDir);
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new ConfigError([`DATA_DIR: cannot be used: ${(error as Error).message}`]);
  }
}

/**
 * Returns the secret of this installation, generated on the first start.
 * Only for the embedded database: several instances must share a configured secret.
 */
function generatedSecret(dataDir: string): string {
  const file = join(dataDir, 'app-secret');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' });
  chmodSync(file, 0o600);
  return readFileSync(file, 'utf8').trim();
}
