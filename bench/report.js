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

/** Aligns columns. `texts` are the indexes of columns with text. */
function grid(head, lines, texts) {
  const widths = head.map((title, column) => Math.max(...[head, ...lines].map((line) => line[column].length)));
  const row = (line) =>
    line
      .map((cell, column) => (texts.includes(column) ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ');
  return [row(head), widths.map((width) => '-'.repeat(width)).join('  '), ...lines.map(row)].join('\n');
}

/**
 * Returns the probability that a value of the first list exceeds a value of the second list: 0.5 if
 * the lists reveal nothing.
 */
function aucOf(first, second) {
  const more = first.flatMap((one) => second.map((other) => (one > other ? 1 : one === other ? 0.5 : 0)));
  return more.reduce((sum, value) => sum + value, 0) / more.length;
}

/** Returns a note about the deviation of the AUC of equal distributions (Mann-Whitney U). */
function aucNote(samples) {
  const deviation = Math.sqrt((2 * samples + 1) / (12 * samples * samples));
  return `${samples} samples of each. The standard deviation of an AUC of 0.5 is ${deviation.toFixed(3)}.`;
}

/** Targets for a figure or for its ratio to the bare figure. */
const target = {
  ratioAtLeast: (limit) => ({ text: `>= ${limit.toFixed(2)} x`, met: ({ ratio }) => ratio >= limit }),
  ratioAtMost: (limit) => ({ text: `<= ${limit.toFixed(2)} x`, met: ({ ratio }) => ratio <= limit }),
  atLeast: (limit, unit) => ({ text: `>= ${count(limit)} ${unit}`, met: ({ ours }) => ours >= limit }),
  atMost: (limit, unit) => ({ text: `<= ${count(limit)} ${unit}`, met: ({ ours }) => ours <= limit }),
  none: { text: '–', met: () => true },
};

/** Returns a measure for `comparison`: its values in each round, and those of its baseline. */
function figure(name, unit, ours, demand = target.none, bare = []) {
  return { name, unit, ours, bare, demand };
}

/** Returns a line per measure, with the ratio of ours to bare, per round if both have rounds. */
function comparison(measures) {
  const shown = (values) =>
    values.length === 0 ? '–' : median(values) < 10 ? median(values).toFixed(1) : count(median(values));
  const lines = measures.map(({ name, unit, ours, bare, demand }) => {
    const ratio = median(ours.slice(0, bare.length).map((value, round) => value / bare[round]));
    const met = demand === target.none ? '' : demand.met({ ours: median(ours), ratio }) ? 'yes' : 'NO';
    return [name, unit, shown(ours), shown(bare), Number.isNaN(ratio) ? '–' : ratio.toFixed(2), demand.text, met];
  });
  return grid(['path', 'unit', 'ours', 'bare', 'ratio', 'target', 'met'], lines, [0, 1, 6]);
}

/** Returns a description of the machine and the versions. */
async function machine(client, { pinned, users }) {
  const { rows } = await client.query('show server_version');
  const cpus = os.cpus();
  const memory = Math.round(os.totalmem() / 2 ** 30);
  const load = os.loadavg()[0].toFixed(1);
  const cores = pinned
    ? 'pinned: measured process on core 0, load and PostgreSQL on core 1'
    : 'not pinned (no taskset, or one core): the load competes with the measured process';
  return [
    `${cpus[0]?.model.trim()}, ${cpus.length} cores, ${memory} GiB, ${os.platform()} ${os.release()}, ` +
      `load ${load} at the start`,
    `Node ${process.versions.node}, PostgreSQL ${rows[0].server_version}, ${count(users)} users; ${cores}`,
  ].join('\n');
}

module.exports = { aucNote, aucOf, comparison, count, figure, grid, machine, median, quantile, sample, target };
