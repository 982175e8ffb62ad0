import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Settings, settings } from './settings';

/**
 * The validated configuration. A field is called what its environment variable is called; units are
 * in the names.
 * @see docs/config.md
 */
export type Config = Omit<Settings, 'PUBLIC_URL' | 'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'APP_SECRET'> & {
  PUBLIC_URL: string;
  DATABASE_URL: string;
  DATABASE_DIRECT_URL: string;
  APP_SECRET: string;
  /** true when the service runs its own PostgreSQL */
  embedded: boolean;
};

/** Injection token of the configuration. */
export const CONFIG = Symbol('CONFIG');

/** The environment is wrong. The message names every fault at once. */
export class ConfigError extends Error {
  /** @param faults each beginning with the name of its variable */
  constructor(faults: string[]) {
    super(`The configuration is wrong:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
  }
}

/**
 * Reads and validates the environment, `.env` included (what is set in the environment wins).
 * @throws ConfigError naming every wrong variable; nothing ever falls back silently
 */
export function loadConfig(environment?: NodeJS.ProcessEnv): Config {
  const given = withoutEmpty(environment ?? readEnvironment());
  const read = settings.safeParse(given);
  const faults = read.success
    ? crossFaults(read.data)
    : read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  if (!read.success || faults.length > 0) throw new ConfigError(faults);
  const { DATABASE_URL = '', APP_SECRET, PUBLIC_URL, DATABASE_DIRECT_URL, ...rest } = read.data;
  return {
    ...rest,
    embedded: DATABASE_URL === '',
    DATABASE_URL,
    DATABASE_DIRECT_URL: DATABASE_DIRECT_URL ?? DATABASE_URL,
    APP_SECRET: APP_SECRET ?? generatedSecret(rest.DATA_DIR),
    PUBLIC_URL: PUBLIC_URL ?? `http://localhost:${rest.PORT}`,
  };
}

/** The configuration once the embedded database listens. */
export function withDatabase(config: Config, url: string): Config {
  return { ...config, DATABASE_URL: url, DATABASE_DIRECT_URL: url };
}

/** The address under which people reach the service, without a trailing slash. */
export function serviceUrl(config: Config): string {
  return `${config.PUBLIC_URL}${config.BASE_PATH}`;
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
    faults.push('APP_SECRET_PREVIOUS: needs APP_SECRET, the secret that takes its place');
  if (values.APP_SECRET_PREVIOUS !== undefined && values.APP_SECRET_PREVIOUS === values.APP_SECRET)
    faults.push('APP_SECRET_PREVIOUS: must differ from APP_SECRET');
  if (values.DATABASE_URL === undefined && values.DATABASE_DIRECT_URL !== undefined)
    faults.push('DATABASE_DIRECT_URL: needs DATABASE_URL');
  if (values.ADMIN_PASSWORD !== undefined && values.ADMIN_EMAIL === undefined)
    faults.push('ADMIN_EMAIL: must be set together with ADMIN_PASSWORD');
  if (values.PORT === 0 && values.PUBLIC_URL === undefined) faults.push('PUBLIC_URL: must be set when PORT is 0');
  return faults;
}

/**
 * A secret of this installation, made once. Only for the embedded database: several instances must
 * share theirs.
 */
function generatedSecret(dataDir: string): string {
  const file = join(dataDir, 'app-secret');
  if (!existsSync(file)) {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
    writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' });
  }
  chmodSync(file, 0o600);
  return readFileSync(file, 'utf8').trim();
}
