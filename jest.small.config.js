const { globalSetup, globalTeardown, ...rest } = require('./jest.config');

/** Pure code only: no database. @type {import('jest').Config} */
module.exports = { ...rest, roots: ['src'] };
