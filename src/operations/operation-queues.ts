import { type OperationKind, operationKinds } from './operation.entity';

/** Name of the job that runs operations. */
export const operationJob = 'run-operations';

/** Number of skipped users or rows that an operation lists. */
export const listedMax = 100;

/** Limits of the skipped rows that an operation keeps. The first limit reached applies. */
export interface SkippedLimits {
  rows: number;
  /** size of the faults and cells */
  bytes: number;
}

/** Bounds the disk space of imports whose rows all fail. Tests lower the limits. */
export const skippedLimits: SkippedLimits = { rows: 100_000, bytes: 67_108_864 };

/** Days for which the skipped rows of a file are kept after the end of the operation. */
export const skippedDays = 30;

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
