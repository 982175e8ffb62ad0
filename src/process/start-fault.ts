import { isNativeError } from 'node:util/types';
import { AppError } from '../http/errors/app-error';
import { firstOf, fromDatabaseError, markDriverFault } from '../http/errors/database-error';
import { ConfigError } from '../platform/config/config';
import { StartFault } from '../platform/start-fault';

/**
 * SQLSTATE classes of a rejected connection: wrong credentials, unknown database, missing
 * privilege.
 */
const rejectedStates = /^(28|3D|42501)/;
const missingPrivilege = '42501';
/** Error codes of certificates that cannot be verified, and of other faults of TLS. */
const tlsCodes = /CERT|^UNABLE_TO_|^ERR_(TLS|SSL|OSSL)_|^EPROTO$/;
const withoutTls = 'The server does not support SSL connections';

/**
 * Explains why the service cannot start, so that an operator can act on it.
 * @returns null for an unexpected error, which should be printed with its stack
 */
export function explainStartFault(error: unknown): string | null {
  if (error instanceof ConfigError || error instanceof StartFault) return error.message;
  if (error instanceof AppError && error.extras.errors !== undefined) {
    const faults = error.extras.errors.map(
      ({ pointer, detail }) => `  - ${variables[pointer ?? ''] ?? pointer}: ${detail}`,
    );
    return `The first administrator cannot be created:\n${faults.join('\n')}`;
  }
  const { code = '', syscall, message } = firstOf(error);
  // A worker asks the primary process to bind the port.
  if (syscall === 'listen' || syscall === 'bind') return `The service cannot listen on HOST and PORT: ${message}`;
  // During the start the service connects only to the database.
  const isTlsFault = tlsCodes.test(code) || message === withoutTls;
  if (
    fromDatabaseError(markDriverFault(firstOf(error))) === null &&
    !rejectedStates.test(code) &&
    !isTlsFault &&
    message !== 'timeout expired'
  )
    return null;
  const hint = isTlsFault
    ? '. Check sslmode and sslrootcert in the URL (docs/database.md, "TLS to PostgreSQL").'
    : code === missingPrivilege
      ? '. See docs/database.md, "The database role".'
      : '';
  return `The database of DATABASE_URL cannot be used: ${message}${hint}`;
}

/**
 * Removes `input` from an error and its cause, and returns the error. An error about an invalid URL
 * contains the URL there, which may contain a password.
 */
export function withoutInput(error: unknown): unknown {
  for (const fault of [error, (error as Error | null | undefined)?.cause])
    if (isNativeError(fault)) delete (fault as { input?: unknown }).input;
  return error;
}

const variables: Record<string, string> = { '/email': 'ADMIN_EMAIL', '/password': 'ADMIN_PASSWORD' };
