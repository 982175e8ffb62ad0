// `npm run bench:cells`: simulates how evenly carriers fill cells. Needs no database.
//   --carriers 10000
//   --trials 50
// The largest carrier has 1 share of the users, the next 1/2^s, 1/3^s and so on (Zipf). Prints the
// users in the largest cell, as a multiple of an even distribution.
const { createHash } = require('node:crypto');
const { grid, quantile } = require('./report');
const { optionsOf } = require('./stage');

const { carriers, trials } = optionsOf({ carriers: 10_000, trials: 50 });
const CELLS = [2, 4, 8, 16, 32];
const EXPONENTS = [0.8, 1, 1.2];

/** Returns the users in the largest cell, beside an even distribution. */
function largest(sizes, cells, choose) {
  const filled = new Array(cells).fill(0);
  for (const [carrier, size] of sizes.entries()) filled[choose(carrier, filled)] += size;
  return (Math.max(...filled) * cells) / filled.reduce((sum, users) => sum + users, 0);
}

const byHash = (cells, trial) => (carrier) =>
  createHash('sha1').update(`${trial}:${carrier}`).digest().readUInt32BE() % cells;
/** A routing table with the largest carriers first: each goes to the cell with the fewest users. */
const byTable = (_carrier, filled) => filled.indexOf(Math.min(...filled));

const lines = EXPONENTS.flatMap((exponent) => {
  const sizes = Array.from({ length: carriers }, (_, index) => (index + 1) ** -exponent);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return CELLS.map((cells) => {
    const hashed = Array.from({ length: trials }, (_, trial) => largest(sizes, cells, byHash(cells, trial)));
    const figures = [quantile(hashed, 0.5), quantile(hashed, 0.95), largest(sizes, cells, byTable), cells / total];
    return [String(exponent), String(cells), ...figures.map((figure) => `${figure.toFixed(2)} ×`)];
  });
});
console.log(grid(['s', 'cells', 'hash, median', 'hash, p95', 'table', 'largest carrier alone'], lines, []));
