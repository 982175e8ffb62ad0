import { Gauge } from 'prom-client';

const labelNames = ['task', 'state'] as const;

/** Jobs in the queue. Finished jobs are deleted. */
export const jobsQueued = new Gauge({
  name: 'carrier_identity_jobs',
  help: 'Jobs in the queue of all instances, by task and state: waiting, running, retrying or failed',
  labelNames,
  aggregator: 'max',
});

/**
 * Age of the oldest job of a task and state, counted from the time at which it was due, or at which
 * its lock was renewed.
 */
export const jobAge = new Gauge({
  name: 'carrier_identity_job_age_seconds',
  help: 'Seconds since the oldest job was due, or since the lock of a running job was renewed, by task and state',
  labelNames,
  aggregator: 'max',
});
