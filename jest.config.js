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

const esModules = ['@nestjs', 'jose', 'uuid', 'oauth4webapi', 'openapi-fetch'];

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testRegex: '\\.spec\\.ts$',
  // `npm run test:long`
  testPathIgnorePatterns: ['/node_modules/', '\\.long\\.spec\\.ts$'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json'],
  transform: { '\\.(ts|js|mjs)$': swc },
  // Transforms only the packages that contain nothing but ES modules.
  transformIgnorePatterns: [`/node_modules/(?!(${esModules.join('|')})/).*\\.js$`],
  coverageProvider: 'v8',
  coverageReporters: ['text-summary'],
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.spec.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  globalSetup: './test/support/global-setup.ts',
  globalTeardown: './test/support/global-teardown.ts',
  // Only stops a test that hangs: a start of the service takes seconds on a busy machine.
  testTimeout: 300_000,
  // More workers than cores, because a third of the files mostly wait.
  maxWorkers: 4,
  // Module registries of finished files stay in memory, and collecting them takes time.
  workerIdleMemoryLimit: '1GB',
  setupFilesAfterEnv: ['<rootDir>/test/support/failures.ts'],
};
