import { LoggedError } from '../common/log';
import { createKeyedHash } from '../common/random';
import type { MailName } from './mail-name';

const words = /[^\s<>"'(),;:=]+/g;

/**
 * Converts the error of a mail server to an error for the log. Mail servers repeat the address of
 * the recipient in their responses, so addresses are removed from the message. A keyed hash of the
 * recipient tells the failures of one recipient from those of others.
 */
export function mailFault(error: unknown, mail: MailName, recipient: string, key: Buffer): LoggedError {
  const address = recipient.toLowerCase();
  const localPart = address.slice(0, address.lastIndexOf('@'));
  const isAddress = (word: string) => word.includes('@') || word.toLowerCase().replace(/\.+$/, '') === localPart;
  const message = (error instanceof Error ? error.message : String(error)).replace(words, (word) =>
    isAddress(word) ? '[address]' : word,
  );
  const recipient_hash = createKeyedHash(key).update(address).digest('hex').slice(0, 16);
  return new LoggedError(message, { mail, recipient_hash });
}
