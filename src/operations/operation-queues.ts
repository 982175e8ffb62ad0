import type { OperationKind } from './operation.entity';

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

/** Number of users or rows below which a batch that exceeds the time limit is not halved. */
export const halvedMin = 100;

/** Number of jobs that run operations at the same time in one process. */
export const turnsMax = 2;

/** The two jobs that run operations of all kinds, as stored jobs of all releases name them. */
export const lanes = ['users', 'files'] as const;
/** One of the jobs that run operations. */
export type Lane = (typeof lanes)[number];

/** Returns the job that an accepted operation starts. */
export function laneOf(kind: OperationKind): Lane {
  return kind === 'import' ? 'files' : 'users';
}
