/** Long repetitions: shutdowns, kills, upgrades, fuzzing. @type {import('jest').Config} */
module.exports = { ...require('./jest.config'), testRegex: '\\.long\\.spec\\.ts$', testPathIgnorePatterns: [] };
