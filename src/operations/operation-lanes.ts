import { type OperationKind, operationKinds } from './operation.entity';

/** Name of the job that works off operations. */
export const operationJob = 'run-operations';

/** What changed users can be undone for so many days. */
export const undoDays = 30;

/**
 * Operations of one lane are worked off one after the other, so that two over the same users never
 * interleave. Imports only add users.
 */
export type Lane = 'users' | 'files';

/** The lane of an operation. */
export function laneOf(kind: OperationKind): Lane {
  return kind === 'import' ? 'files' : 'users';
}

/** The operations of a lane. */
export function kindsOf(lane: Lane): OperationKind[] {
  return operationKinds.filter((kind) => laneOf(kind) === lane);
}
