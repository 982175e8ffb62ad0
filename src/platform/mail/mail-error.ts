import { LoggedError } from '../log/log';
import { createKeyedHash } from '../random';

/** Prefix of the messages that callers of the API may see. */
const prefix = 'mail server: ';
/** Matches the stored message of a response with which a mail server rejects a mail permanently. */
export const rejectedForGood = `^${prefix}5\\d\\d`;
const unusable = {
  login: 'the login was rejected',
  encryption: 'the connection cannot be encrypted',
  connection: 'not reachable',
};
/**
 * Matches the stored message of an attempt that could not use the mail server at all. A server
 * answers 421 when it closes the connection (RFC 5321 §3.8).
 */
export const serverUnusable = `^${prefix}((${Object.values(unusable).join('|')})$|421( |-|$))`;
const shownMax = 200;
const unreachable = /^(ECONN|ETIMEDOUT|ESOCKET|EDNS|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|EPIPE)/;
const words = /[^\s<>"'(),;:=]+/g;

/** The mail that an error is about. */
export interface FailedMail {
  name: string;
  recipient: string;
  /** key of the hash that stands for the recipient in the log */
  key: Buffer;
}

/**
 * Converts the error of a mail. The message is the response of the mail server, or states why there
 * was no response; see `shownMailError`. The log also contains the original text.
 * Removes addresses and links, because mail servers repeat the address of the recipient in their
 * responses, and spam filters repeat links. A keyed hash in the log identifies the recipient.
 */
export function mailError(error: unknown, { name, recipient, key }: FailedMail): LoggedError {
  const address = recipient.toLowerCase();
  const clean = (text: string) => withoutAddress(firstLine(text), address);
  const original = clean(error instanceof Error ? error.message : String(error));
  const response = responseOf(error);
  const recipient_hash = createKeyedHash(key).update(address).digest('hex').slice(0, 16);
  return Object.assign(
    new LoggedError(response === null ? original : `${prefix}${clean(response)}`, {
      mail: name,
      recipient_hash,
      error: original,
    }),
    { cause: error },
  );
}

/** Returns the text of a stored job error that callers may see. */
export function shownMailError(message: string): string {
  if (message.startsWith(prefix)) return firstLine(message.slice(prefix.length));
  return 'The service failed to prepare the mail. The log contains the error.';
}

/** Returns the response of the mail server, or null for an error that the server did not cause. */
function responseOf(error: unknown): string | null {
  const { code, response } = error as { code?: unknown; response?: unknown };
  if (typeof response === 'string' && response !== '') return response;
  if (code === 'EAUTH') return unusable.login;
  if (code === 'ETLS') return unusable.encryption;
  return unreachable.test(String(code)) ? unusable.connection : null;
}

function firstLine(text: string): string {
  const [line = ''] = text.trim().split(/[\r\n]/);
  return line
    .replace(/\p{Cc}/gu, ' ')
    .replace(/\S+:\/\/\S+/g, '[link]')
    .replace(/[A-Za-z0-9_-]{40,}/g, '[token]')
    .slice(0, shownMax);
}

function withoutAddress(text: string, address: string): string {
  const localPart = address.slice(0, address.lastIndexOf('@'));
  const isAddress = (word: string) => word.includes('@') || word.toLowerCase().replace(/\.+$/, '') === localPart;
  return text.replace(words, (word) => (isAddress(word) ? '[address]' : word));
}
