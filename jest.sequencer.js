const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * The longest test files, most of which wait for processes, timeouts and intervals. The files of
 * one entry keep the order of Jest.
 */
const longest = [
  '/test/faults/shutdown.',
  '/test/security/tokens/key-rotation.',
  '/test/faults/operations.',
  '/test/faults/embedded-postgres.',
  '/test/security/factors/code-counters.',
  // Not beside the test of shutdowns, which needs the processor too.
  '/test/faults/workers.',
  '/test/faults/start.',
  '/test/security/access/access-matrix.',
  '/test/faults/',
  '/test/e2e/',
];

/**
 * Starts the longest files first, alternating with short ones. A long file that starts last would
 * extend the run. Jest alone knows no durations in a fresh clone.
 */
module.exports = class extends Sequencer {
  /** @param {Parameters<InstanceType<typeof Sequencer>['sort']>[0]} tests */
  sort(tests) {
    const all = super.sort(tests);
    const long = all.filter(({ path }) => rank(path) < longest.length).sort((a, b) => rank(a.path) - rank(b.path));
    const short = all.filter(({ path }) => rank(path) === longest.length);
    const shortPerLong = Math.floor(short.length / Math.max(1, long.length));
    return [...long.flatMap((test) => [test, ...short.splice(0, shortPerLong)]), ...short];
  }
};

/** @param {string} path */
function rank(path) {
  const index = longest.findIndex((part) => path.includes(part));
  return index < 0 ? longest.length : index;
}
