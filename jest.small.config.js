/** Pure code only: no database. @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config'),
  globalSetup: undefined,
  globalTeardown: undefined,
  setupFilesAfterEnv: [],
  roots: ['src', 'web/src'],
};
