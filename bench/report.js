// Statistics and tables.
const os = require('node:os');

/** Returns a quantile of the values. */
function quantile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** Returns the median of the values. */
function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Returns the results of one round. */
function sample({ requests, seconds, latencies }, cpuSeconds) {
  return {
    rate: requests / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    cpu: (cpuSeconds / requests) * 1e6,
  };
}

function count(value) {
  return Number.isNaN(value) ? '–' : Math.round(value).toLocaleString('en');
}

function rates(samples) {
  const all = samples.map(({ rate }) => rate);
  return `${count(median(all))} (${count(Math.min(...all))}..${count(Math.max(...all))})`;
}

function milliseconds(values) {
  const value = median(values);
  return value.toFixed(value < 10 ? 1 : 0);
}

/**
 * Returns a line per path. Ratios are computed per round, because the speed of a machine varies.
 */
function table(paths) {
  const of = (samples, field) => samples.map((one) => one[field]);
  const ratio = ({ samples, baseline }, field) =>
    median(
      samples.map((one, round) =>
        field === 'rate' ? one.rate / baseline.samples[round].rate : baseline.samples[round].cpu / one.cpu,
      ),
    );
  const share = (value) => (Number.isNaN(value) ? '–' : value.toFixed(2));
  const head = [
    'path',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'CPU µs',
    'baseline',
    'requests/s',
    'CPU µs',
    'ratio',
    'of CPU',
    'target',
    'peers',
  ];
  const lines = paths.map((path) => [
    path.name,
    rates(path.samples),
    milliseconds(of(path.samples, 'p50')),
    milliseconds(of(path.samples, 'p99')),
    count(median(of(path.samples, 'cpu'))),
    path.baseline.name,
    rates(path.baseline.samples),
    count(median(of(path.baseline.samples, 'cpu'))),
    share(ratio(path, 'rate')),
    share(ratio(path, 'cpu')),
    path.target.toFixed(2),
    path.peers,
  ]);
  return grid(head, lines, [0, 5]);
}

/** Aligns columns. `texts` are the indexes of columns with text. */
function grid(head, lines, texts) {
  const widths = head.map((title, column) => Math.max(...[head, ...lines].map((line) => line[column].length)));
  const row = (line) =>
    line
      .map((cell, column) => (texts.includes(column) ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ');
  return [row(head), widths.map((width) => '-'.repeat(width)).join('  '), ...lines.map(row)].join('\n');
}

/** Targets for a figure or for its ratio to the bare figure. */
const target = {
  ratioAtLeast: (limit) => ({ text: `>= ${limit.toFixed(2)} x`, met: ({ ratio }) => ratio >= limit }),
  ratioAtMost: (limit) => ({ text: `<= ${limit.toFixed(2)} x`, met: ({ ratio }) => ratio <= limit }),
  atLeast: (limit, unit) => ({ text: `>= ${count(limit)} ${unit}`, met: ({ ours }) => ours >= limit }),
  atMost: (limit, unit) => ({ text: `<= ${count(limit)} ${unit}`, met: ({ ours }) => ours <= limit }),
  none: { text: '–', met: () => true },
};

/**
 * Returns a line per measure, with the ratio of ours to bare, per round if both have rounds.
 * @param {{ name: string, unit: string, ours: number[], bare: number[], demand: object }[]}
 * measures
 */
function comparison(measures) {
  const shown = (values) =>
    values.length === 0 ? '–' : median(values) < 10 ? median(values).toFixed(1) : count(median(values));
  const lines = measures.map(({ name, unit, ours, bare, demand }) => {
    const ratio = median(ours.slice(0, bare.length).map((value, round) => value / bare[round]));
    const met =
      ours.length === 0
        ? 'not measured'
        : demand === target.none
          ? ''
          : demand.met({ ours: median(ours), ratio })
            ? 'yes'
            : 'NO';
    return [name, unit, shown(ours), shown(bare), Number.isNaN(ratio) ? '–' : ratio.toFixed(2), demand.text, met];
  });
  return grid(['path', 'unit', 'ours', 'bare', 'ratio', 'target', 'met'], lines, [0, 1, 6]);
}

/** Returns a description of the machine and the versions. */
async function machine(client, { pinned, embedded, users }) {
  const { rows } = await client.query('show server_version');
  const cpus = os.cpus();
  const memory = Math.round(os.totalmem() / 2 ** 30);
  const load = os.loadavg()[0].toFixed(1);
  const cores = pinned
    ? `pinned: measured process on core 0, load and ${embedded ? 'PostgreSQL' : 'this process'} on core 1`
    : 'not pinned (no taskset, or one core): the load competes with the measured process';
  return [
    `${cpus[0]?.model.trim()}, ${cpus.length} cores, ${memory} GiB, ${os.platform()} ${os.release()}, ` +
      `load ${load} at the start`,
    `Node ${process.versions.node}, PostgreSQL ${rows[0].server_version} ` +
      `(${embedded ? 'embedded' : 'BENCH_DATABASE_URL'}), ${count(users)} users; ${cores}`,
  ].join('\n');
}

module.exports = { comparison, count, grid, machine, median, quantile, sample, table, target };
