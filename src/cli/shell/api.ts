import { readFileSync } from 'node:fs';
import { createIdentity, type Identity, IdentityError } from '@carrier-identity/client';
import { currentTime } from '../../platform/clock';
import { shellEnvironment } from '../../platform/config/shell-environment';
import { CommandError } from '../command-error';
import { note } from './output';

/** Covers a failover, during which the service responds with `Retry-After: 2`. */
const retrying = { retries: 12, maxRetryAfter: 10 };
const hints: Partial<Record<string, string>> = {
  'auth.reauthentication_required': 'Log in again, and set IDENTITY_KEY to the new access token.',
  'client.unexpected_response': 'Check IDENTITY_URL and its BASE_PATH.',
  'request.not_found': 'Check the id, and the BASE_PATH in IDENTITY_URL.',
  'user.version_mismatch': 'Run `user show`, and repeat the command with `--if-version` and its version.',
};

/**
 * Returns a client of the service at IDENTITY_URL with the key of a file, of IDENTITY_KEY or of
 * IDENTITY_KEY_FILE. A file is read for each request, so that a replaced key takes effect.
 * @throws CommandError which never contains the key
 */
export function connect(keyFile?: string): Identity {
  const { IDENTITY_URL, IDENTITY_KEY, IDENTITY_KEY_FILE } = shellEnvironment();
  const url = addressOf(IDENTITY_URL);
  if (IDENTITY_KEY !== undefined && IDENTITY_KEY_FILE !== undefined)
    throw new CommandError('usage', 'Set IDENTITY_KEY or IDENTITY_KEY_FILE, not both.');
  const file = keyFile ?? IDENTITY_KEY_FILE;
  const key = file === undefined ? () => checked(IDENTITY_KEY, 'IDENTITY_KEY') : () => checked(read(file), file);
  key();
  return createIdentity({ url, key, onRetry: reportOutage, ...retrying });
}

function addressOf(url = ''): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CommandError('usage', 'Set IDENTITY_URL to the address of the service, with its BASE_PATH.');
  const { username, password } = new URL(url);
  if (username + password !== '') throw new CommandError('usage', 'IDENTITY_URL must not contain a password.');
  return url;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code = 'invalid path' } = error as NodeJS.ErrnoException;
    throw new CommandError('usage', `The key file ${file} cannot be read (${code}).`);
  }
}

function checked(key: string | undefined, source: string): string {
  if (key === undefined)
    throw new CommandError('usage', 'Set IDENTITY_KEY or IDENTITY_KEY_FILE to an API key or an access token.');
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new CommandError('usage', `${source} contains no API key and no access token.`);
  return key;
}

/** Longer than the time between two attempts. */
const outageMs = 30_000;
let failedAt = 0;

/** Prints once per outage that a command waits. @throws other errors, and for an unknown host */
export function reportOutage(error: unknown): void {
  if (!(error instanceof IdentityError) || !error.unavailable || causeOf(error) === 'ENOTFOUND') throw error;
  const now = currentTime().getTime();
  if (now - failedAt > outageMs) note(`${messageOf(error)}\nWaiting for the service`);
  failedAt = now;
}

/** Turns a failed request into a message and an exit code. Returns other errors unchanged. */
export function explain(error: unknown): unknown {
  if (!(error instanceof IdentityError)) return error;
  const { status, code } = error;
  const isKeyRejected = code === 'access.denied' && /API keys/.test(error.message);
  const hint = isKeyRejected ? 'Set IDENTITY_KEY to the access token of a user.' : hints[code];
  const message = `${messageOf(error)}${hint === undefined ? '' : `\n${hint}`}`;
  if (code === 'client.unexpected_response' || error.unavailable) return new CommandError('unavailable', message);
  if (status === 401 || status === 403) return new CommandError('denied', message);
  return new CommandError(status === 404 || status === 410 ? 'not_found' : 'failed', message);
}

function messageOf(error: IdentityError): string {
  const cause = causeOf(error);
  // A single missing permission is in the message already.
  const faults = error.errors
    .filter(({ detail }) => detail === undefined || !error.message.endsWith(detail))
    .map(({ pointer, parameter, code, detail }) => `  ${pointer?.slice(1) ?? parameter ?? code}: ${detail ?? code}`);
  return [`${error.message}${cause === undefined ? '' : ` (${cause})`}`, ...faults].join('\n');
}

/** Returns the code of a connection that failed. The message of the cause may contain the key. */
function causeOf({ cause }: Error): string | undefined {
  const failure = ((cause as Error | undefined)?.cause ?? cause) as { code?: unknown } | undefined;
  return typeof failure?.code === 'string' ? failure.code : undefined;
}
