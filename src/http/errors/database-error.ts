import { AppError, invalid } from './app-error';
import type { ErrorCode } from './error-codes';

/** Error codes of constraints that a caller can violate. */
const constraintCodes: Record<string, ErrorCode> = {
  users_email_key: 'user.email_taken',
  users_name_key: 'user.name_taken',
  roles_pkey: 'role.name_taken',
  roles_name_key: 'role.name_taken',
  operations_confirm_id_key: 'bulk.set_changed',
  second_factors_credential_id_key: 'factor.already_enrolled',
};

/**
 * SQLSTATE classes and codes of temporary errors: connection, shutdown, resources, timeout,
 * conflict.
 */
const temporaryStates = /^(08|28|3D000|53|55000|57P|57014|55P03|40001|40P01|25006)/;
/** Serialization failure and deadlock. */
const conflictStates = new Set(['40001', '40P01']);
const connectionFaults = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);
const poolFaults = new RegExp(
  'timeout exceeded when trying to connect|Connection terminated|' +
    'Client has encountered a connection error|Cannot use a pool',
  'i',
);
/** Errors of the next statement in a transaction, after TypeORM released its lost connection. */
const lostInTransaction = /^QueryRunner(Provider)?AlreadyReleasedError$/;
/** Driver errors that TypeORM did not wrap. Errors of client connections have the same codes. */
const driverFaults = new WeakSet<Error>();

interface DriverFault {
  name: string;
  code?: string;
  constraint?: string;
  message: string;
}

/**
 * Marks an error as thrown by the database driver, not by a client connection.
 * Returns the error.
 */
export function markDriverFault<Fault>(error: Fault): Fault {
  if (error instanceof Error) driverFaults.add(error);
  return error;
}

/** Returns the first of several errors: a host with several addresses fails once for each. */
export function firstOf(error: unknown): NodeJS.ErrnoException {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  return first instanceof Error ? first : new Error(String(first));
}

/**
 * Translates an error of the database driver: a violated constraint to its error code, a lost or
 * busy database to `service.database_unavailable`.
 * @returns null for any other error, which is a defect of the service
 */
export function fromDatabaseError(error: unknown): AppError | null {
  const fault = driverFault(error);
  if (fault === null) return null;
  const taken = constraintCodes[fault.constraint ?? ''];
  if (fault.code === '23505' && taken !== undefined) return new AppError(taken);
  if (fault.code === '23514' && fault.constraint === 'users_attributes_check')
    return invalid({
      pointer: '/attributes',
      code: 'field.too_long',
      detail: 'take up too much space when stored; send long numbers as text',
    });
  if (fault.code === '22021' || fault.code === '22P05')
    return invalid({ code: 'field.malformed', detail: 'contains characters that cannot be stored' });
  return isTemporary(fault) ? new AppError('service.database_unavailable') : null;
}

/**
 * Returns whether PostgreSQL aborted a transaction because of another one, so that a retry can
 * succeed.
 */
export function isConflict(error: unknown): boolean {
  return conflictStates.has(driverFault(error)?.code ?? '');
}

/** Returns whether PostgreSQL canceled a statement because of its `statement_timeout`. */
export function isTimeLimit(error: unknown): boolean {
  const fault = driverFault(error);
  return fault?.code === '57014' && !/user request/.test(fault.message);
}

function isTemporary({ name, code = '', message }: DriverFault): boolean {
  return temporaryStates.test(code) || connectionFaults.has(code) || poolFaults.test(message) || isLost(name, message);
}

function isLost(name: string, message: string): boolean {
  return lostInTransaction.test(name) || (name === 'TypeORMError' && message === 'Driver not Connected');
}

/** Returns the driver error, which TypeORM wrapped as `driverError` or which was marked. */
function driverFault(error: unknown): DriverFault | null {
  if (!(error instanceof Error)) return null;
  const inner = (error as { driverError?: unknown }).driverError;
  if (inner instanceof Error) return inner;
  return driverFaults.has(error) || isLost(error.name, error.message) ? error : null;
}
