/** Reports that a worker could not start. The message explains why. */
export class WorkerFault extends Error {}
