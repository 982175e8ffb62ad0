import { type OperationKind, operationKinds } from './operation.entity';

/** Name of the job that runs operations. */
export const operationJob = 'run-operations';

/** Days within which changes and deletions can be undone. */
export const undoDays = 30;

/**
 * A queue of operations that run one after the other, so that no two operations on the same users
 * interleave. Imports only add users.
 */
export type OperationQueue = 'users' | 'files';

/** Returns the queue of an operation. */
export function queueOf(kind: OperationKind): OperationQueue {
  return kind === 'import' ? 'files' : 'users';
}

/** Returns the kinds of operations in a queue. */
export function kindsOf(queue: OperationQueue): OperationKind[] {
  return operationKinds.filter((kind) => queueOf(kind) === queue);
}
