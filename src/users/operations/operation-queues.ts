/** Name of the job that runs operations. */
export const operationJob = 'run-operations';

/** Number of skipped users or rows that an operation lists. */
export const listedMax = 100;

/**
 * Maximum number of skipped rows that an operation keeps, and of bytes of their faults and cells.
 * The limit reached first applies. Both bound the disk space of imports whose rows all fail. Tests
 * lower them.
 */
export const skippedLimits = { rows: 100_000, bytes: 67_108_864 };

/** Days for which the skipped rows of a file are kept after the end of the operation. */
export const skippedDays = 30;

/** Number of users or rows up to which a batch that exceeds the time limit is not halved. */
export const halvedMin = 100;

/**
 * Number of jobs that run operations at the same time in one process. A small pool has fewer: they
 * leave a place of the `Admission` for requests.
 */
export const turnsMax = 2;

/** Milliseconds that a batch waits for a place of the `Admission` before its turn ends. */
export const turnPatienceMs = 2_000;

/**
 * Maximum number of unfinished imports, and of unfinished bulk changes in the background, of the
 * users and keys of a carrier together. Without a carrier, of a user and their keys.
 */
export const unfinishedMax = { import: 3, change: 20 };

/**
 * Names of the two jobs that run operations of any kind, so that two operations run at the same
 * time. Do not rename them: stored jobs of all releases have these names.
 */
export const lanes = ['users', 'files'];
