const { default: Sequencer } = require('@jest/test-sequencer');

/** The longest test files, which mostly wait: for processes, timeouts and intervals. */
const waiting = ['/test/faults/operations.', '/test/security/tokens/key-rotation.', '/test/faults/', '/test/e2e/'];

/**
 * Starts the waiting files first, alternating with files that need the processor. A long file that
 * starts last would extend the run. Jest alone knows no durations in a fresh clone.
 */
module.exports = class extends Sequencer {
  /** @param {Parameters<InstanceType<typeof Sequencer>['sort']>[0]} tests */
  sort(tests) {
    const all = super.sort(tests);
    const long = all.filter(({ path }) => rank(path) < waiting.length).sort((a, b) => rank(a.path) - rank(b.path));
    const short = all.filter(({ path }) => rank(path) === waiting.length);
    const shortPerLong = Math.floor(short.length / Math.max(1, long.length));
    return [...long.flatMap((test) => [test, ...short.splice(0, shortPerLong)]), ...short];
  }
};

/** @param {string} path */
function rank(path) {
  const index = waiting.findIndex((part) => path.includes(part));
  return index < 0 ? waiting.length : index;
}
