import { type Metric, register } from 'prom-client';

/** Requests with the same labels. No label contains text that a client can choose freely. */
interface Series {
  labels: { method: string; route: string; status: number };
  /** number of requests by bucket, not cumulative; the last bucket has no upper bound */
  counts: number[];
  /** total duration */
  seconds: number;
}

/** Methods with a separate label. All others are `other`, so that no client can add labels. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);
/** Upper bounds of the buckets in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const series = new Map<string, Series>();

/**
 * Durations of requests. Does not use the `Histogram` of prom-client, which validates and joins the
 * labels of each observation: that takes 2 % of the CPU time of a check-token request.
 */
const requestDurations = {
  name: 'carrier_identity_http_request_duration_seconds',
  help: 'Requests by method, route pattern and status, with the seconds until the response was sent',
  type: 'histogram',
  aggregator: 'sum',
};
register.registerMetric({
  ...requestDurations,
  get: () => Promise.resolve({ ...requestDurations, values: [...series.values()].flatMap(toValues) }),
} as unknown as Metric);

/** Counts a completed request: its method, URL pattern, status and duration. */
export type RequestCounter = (method: string, url: string | undefined, status: number, ms: number) => void;

/** Returns a counter of requests. The label `route` omits `basePath`, the prefix of all paths. */
export function createRequestCounter(basePath: string): RequestCounter {
  const known = new Map<string | undefined, Map<string, Map<number, Series>>>();
  const add = (method: string, url: string | undefined, status: number) => {
    const byMethod = known.get(url) ?? new Map<string, Map<number, Series>>();
    const byStatus = byMethod.get(method) ?? new Map<number, Series>();
    const added = seriesOf({ method: methodLabel(method, status), route: routeLabel(url, basePath), status });
    known.set(url, byMethod.set(method, byStatus.set(status, added)));
    return added;
  };
  return (method, url, status, ms) => {
    const counted = known.get(url)?.get(method)?.get(status) ?? add(method, url, status);
    const seconds = ms / 1_000;
    let bucket = 0;
    while (seconds > (bounds[bucket] ?? Infinity)) bucket++;
    counted.counts[bucket]! += 1;
    counted.seconds += seconds;
  };
}

/** Returns `other` also for methods that the route does not have: each route has few series. */
function methodLabel(method: string, status: number): string {
  return methods.has(method) && status !== 405 ? method : 'other';
}

/** Returns the path as in the OpenAPI document. All paths without a route have the same label. */
function routeLabel(url: string | undefined, basePath: string): string {
  return url === undefined ? 'unknown' : url.slice(basePath.length).replace(/:([a-z_]+)/g, '{$1}') || '/';
}

function seriesOf(labels: Series['labels']): Series {
  const key = Object.values(labels).join(' ');
  const found = series.get(key) ?? { labels, counts: [...bounds.map(() => 0), 0], seconds: 0 };
  series.set(key, found);
  return found;
}

/** Returns the samples of a series in the form of the registry, with cumulative buckets. */
function toValues({ labels, counts, seconds }: Series): { metricName: string; labels: object; value: number }[] {
  const { name } = requestDurations;
  let count = 0;
  const buckets = counts.map((inBucket, bucket) => ({
    metricName: `${name}_bucket`,
    labels: { le: bounds[bucket] ?? '+Inf', ...labels },
    value: (count += inBucket),
  }));
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: seconds },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
