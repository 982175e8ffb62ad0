const { missingPrograms } = require('./deploy/ha/programs');

const missing = missingPrograms('haproxy');
if (missing.length > 0) console.error(`drill.long.spec.ts does not run: install ${missing.join(', ')}.`);

/** Long repetitions: shutdowns, kills, failovers, fuzzing. @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config'),
  testRegex: '\\.long\\.spec\\.ts$',
  testPathIgnorePatterns: missing.length > 0 ? ['drill\\.long\\.spec\\.ts$'] : [],
};
