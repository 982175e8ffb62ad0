import cluster from 'node:cluster';

const [, , given = '', role] = process.argv;

/**
 * Whether this process is a worker of an instance. A worker that another program has started, such
 * as PM2, is an instance of its own.
 */
export const isWorker = cluster.isWorker && /^\d+$/.test(given);

/**
 * Number of processes that share the limits of this instance. The primary process passes it to its
 * workers as an argument, because some limits are created when a file is loaded.
 */
const processes = isWorker ? Number(given) : 1;

/** Minimum size of the connection pool of a process. */
export const poolMinPerWorker = 4;

/** Argument of worker 1, which runs the jobs of the instance. */
export const designated = 'designated';

/** Whether this process is the command `after-restore`, which accepts a restored database. */
export const isRestoring = given === 'after-restore';

/** Whether this process runs jobs. One process of each instance does. */
export const runsJobs = (!isWorker || role === designated) && !isRestoring;

/** Returns the share of this process in a limit of the instance, at least `min`. */
export function shareOf(limit: number, min = 1): number {
  return Math.max(min, Math.floor(limit / processes));
}
