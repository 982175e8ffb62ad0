import { Histogram } from 'prom-client';

/** Methods with a separate label. All others are `other`, so that no client can add labels. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);
/** Durations of requests. No label contains text that a client can choose freely. */
const durations = new Histogram({
  name: 'carrier_identity_http_request_duration_seconds',
  help: 'Requests by method, route pattern and status, with the seconds until the response was sent',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

/**
 * Counts a completed request.
 * @param path URL pattern without the base path; undefined = no route, with the label `unknown`
 */
export function countRequest(method: string, path: string | undefined, status: number, ms: number): void {
  // A method that the route does not have is `other`, too, so that each route has few series.
  const labelled = methods.has(method) && status !== 405 ? method : 'other';
  // Write parameters as in the OpenAPI document.
  const route = path === undefined ? 'unknown' : path.replace(/:([a-z_]+)/g, '{$1}') || '/';
  durations.observe({ method: labelled, route, status }, ms / 1_000);
}
