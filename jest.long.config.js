const { spawnSync } = require('node:child_process');
const { missingPrograms } = require('./deploy/ha/programs');

const missing = missingPrograms('haproxy');
if (missing.length > 0) console.error(`drill.long.spec.ts does not run: install ${missing.join(', ')}.`);

// Builds helm and kubeconform once, which takes minutes.
const options = { cwd: __dirname, stdio: 'inherit', timeout: 15 * 60_000 };
const canCheckChart = spawnSync(process.execPath, ['scripts/chart.mjs', '--install'], options).status === 0;
if (!canCheckChart) console.error('chart.long.spec.ts does not run: helm and kubeconform cannot be installed.');

// Mounts and users need root on Linux.
const canMount = process.platform === 'linux' && process.getuid() === 0;
if (!canMount) console.error('image.long.spec.ts does not run: it needs root on Linux.');

/** Long repetitions: shutdowns, kills, failovers, fuzzing. @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config'),
  testRegex: '\\.long\\.spec\\.ts$',
  testPathIgnorePatterns: [
    ...(missing.length > 0 ? ['drill\\.long\\.spec\\.ts$'] : []),
    ...(canCheckChart ? [] : ['chart\\.long\\.spec\\.ts$']),
    ...(canMount ? [] : ['image\\.long\\.spec\\.ts$']),
  ],
};
