import { collectDefaultMetrics, Gauge, register } from 'prom-client';
import { version } from '../project';

/** Version of the service and of Node.js, as labels. */
const buildInfo = new Gauge({
  name: 'carrier_identity_build_info',
  help: 'Always 1; the labels are the versions of the service and of Node.js',
  labelNames: ['version', 'node_version'],
  aggregator: 'first',
});
buildInfo.set({ version, node_version: process.version }, 1);

/** Metrics of prom-client with names that `promtool check metrics` rejects. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * Starts the metrics of the process: CPU time, memory, event-loop delay and garbage collection.
 * Does nothing if they have started.
 */
export function startProcessMetrics(): void {
  if (register.getSingleMetric('process_cpu_seconds_total') !== undefined) return;
  collectDefaultMetrics();
  misnamed.forEach((name) => register.removeSingleMetric(name));
}
