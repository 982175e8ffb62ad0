import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import { builtinRules } from 'eslint/use-at-your-own-risk';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';
import { docstrings } from './scripts/eslint-docstrings.mjs';

/** Files that open connections which must not follow the primary. */
const MAY_CONNECT = [
  'src/platform/database/database-client.ts',
  'src/platform/database/primary.ts',
  'src/platform/embedded-postgres/**',
];

/** Files that create secrets, cursors, ETags or confirm tokens. */
const MAY_USE_CRYPTO = [
  'src/platform/random.ts',
  'src/platform/sealing.ts',
  'src/platform/signer.ts',
  'src/platform/config/**',
  'src/platform/embedded-postgres/**',
  'src/auth/**',
  'src/**/*.spec.ts',
];
const MAY_USE_TYPEORM = [
  '**/*.repository.ts',
  '**/*.entity.ts',
  'src/platform/database/**',
  'migrations/**',
  'ormconfig.ts',
  'test/**',
];
const MAY_USE_NEST_TYPEORM = ['**/*.module.ts', 'test/**'];
const MAY_USE_SQL = [
  '**/*.repository.ts',
  '**/*.sql.ts',
  'src/http/lists/**',
  'src/platform/database/**',
  'src/**/*.spec.ts',
];
const MAY_READ_THE_ENVIRONMENT = ['src/platform/config/**', 'examples/**', 'test/**', 'bench/**', 'scripts/**'];
const MAY_READ_THE_CLOCK = ['src/platform/clock.ts'];
const MAY_USE_THE_CONSOLE = ['src/main.ts', 'src/cli/**'];
/** Files that the command line of TypeORM or Jest loads by their default export. */
const MAY_EXPORT_DEFAULT = ['ormconfig.ts', 'test/support/global-{setup,teardown}.ts'];

const TYPESCRIPT = ['{client,examples,src,test,migrations,bench,scripts}/**/*.ts', 'examples/**/*.mts', 'ormconfig.ts'];
/** The console, which runs in a browser. */
const WEB = ['web/src/**/*.{ts,tsx}'];
const SCRIPTS = ['*.{js,mjs}', '{bench,client,deploy,scripts,test}/**/*.{js,mjs}', 'src/**/*.worker.js'];
/** Scripts of pages, which run in a browser. */
const BROWSER_SCRIPTS = ['src/**/templates/*.js'];
const TESTS = ['test/**/*.ts', '{src,web/src}/**/*.spec.ts'];

// A later block replaces the options of a rule instead of adding to them. A rule with several
// concerns and exceptions is therefore registered once per concern, under its own name.
const restrictedImports = tseslint.plugin.rules['no-restricted-imports'];
const restrictedSyntax = builtinRules.get('no-restricted-syntax');
const house = {
  rules: {
    docstrings,
    injection: restrictedImports,
    'typeorm-imports': restrictedImports,
    'nest-typeorm-imports': restrictedImports,
    'crypto-imports': restrictedImports,
    'pg-imports': restrictedImports,
    'service-imports': restrictedImports,
    'sql-imports': restrictedImports,
    'environment-imports': restrictedImports,
    environment: builtinRules.get('no-restricted-properties'),
    clock: restrictedSyntax,
    'secret-compares': restrictedSyntax,
    queries: restrictedSyntax,
    'query-keys': restrictedSyntax,
    shape: restrictedSyntax,
    'skipped-tests': restrictedSyntax,
  },
};

/** Returns a block for one concern: `rules` apply to `files`, except to `except`. */
const only = (files, except, rules) => ({ files, ignores: except, rules });

const limits = [
  only([...TYPESCRIPT, ...WEB, ...SCRIPTS, ...BROWSER_SCRIPTS], [], {
    // The value of `@example` is data, which cannot wrap.
    'max-len': ['error', { code: 120, comments: 100, ignoreUrls: true, ignorePattern: ' @example ' }],
  }),
];

const noBarrels = { selector: 'ExportAllDeclaration', message: 'No barrels: import from the file that declares it.' };

const shape = [
  only(TYPESCRIPT, [], {
    'house/shape': ['error', noBarrels, { selector: 'TSExportAssignment', message: 'Use named exports.' }],
    'house/injection': [
      'error',
      {
        paths: [
          {
            name: '@nestjs/typeorm',
            importNames: ['InjectRepository'],
            message: 'Its repository escapes the transaction: use txHost.tx.getRepository(Entity) on each call.',
          },
          {
            name: '@nestjs/common',
            importNames: ['forwardRef'],
            message: 'Break the import cycle: send an event, or register a handler at start.',
          },
          { name: '@nestjs/common', importNames: ['ParseUUIDPipe'], message: 'Use @PathId, which lowers the case.' },
          { name: '@nestjs/core', importNames: ['ModuleRef'], message: 'Name the dependency in the constructor.' },
        ],
      },
    ],
  }),
  only(TYPESCRIPT, MAY_EXPORT_DEFAULT, {
    'no-restricted-exports': [
      'error',
      {
        restrictDefaultExports: { direct: true, named: true, defaultFrom: true, namedFrom: true, namespaceFrom: true },
      },
    ],
  }),
  only(['{client/src,src}/**/*.ts', ...WEB], ['src/**/*.spec.ts'], { 'house/docstrings': 'error' }),
  only(WEB, [], {
    'house/shape': ['error', noBarrels, { selector: 'ExportDefaultDeclaration', message: 'Use named exports.' }],
  }),
  only(WEB, ['web/src/**/data.ts', 'web/src/api/**'], {
    'house/query-keys': [
      'error',
      {
        selector: 'Property[key.name="queryKey"]',
        message: 'Keep keys and queries in the `data.ts` of the feature, so that keys cannot collide.',
      },
    ],
  }),
  only(WEB, ['web/src/api/**'], {
    'house/queries': [
      'error',
      {
        selector: 'MemberExpression[property.name=/^(invalidate|refetch|reset)Queries$/]',
        message: 'Call `changed(subject)` of src/api/stale.ts, which knows what depends on a subject.',
      },
    ],
  }),
  only(['src/**/*.ts'], MAY_USE_THE_CONSOLE, { 'no-console': 'error' }),
];

const borders = [
  only(TYPESCRIPT, MAY_USE_TYPEORM, {
    'house/typeorm-imports': [
      'error',
      {
        patterns: [
          { regex: '^typeorm(/|$)', message: 'TypeORM stays in repositories, entities and src/platform/database.' },
        ],
      },
    ],
  }),
  only(TYPESCRIPT, MAY_USE_NEST_TYPEORM, {
    'house/nest-typeorm-imports': [
      'error',
      { paths: [{ name: '@nestjs/typeorm', message: 'Only modules register entities.' }] },
    ],
  }),
  only(['src/**/*.ts'], MAY_USE_SQL, {
    'house/sql-imports': [
      'error',
      {
        patterns: [
          {
            regex: '(^|/)lists/sql$',
            message: 'SQL fragments stay in repositories and *.sql files: pass a scope, conditions or ids.',
          },
        ],
      },
    ],
  }),
  only(['src/**/*.service.ts'], [], {
    'house/service-imports': [
      'error',
      {
        patterns: [
          {
            regex: '^(@nestjs/(swagger|platform-fastify)|fastify|@fastify/.+)(/|$)',
            message: 'Services import neither HTTP nor OpenAPI packages.',
          },
        ],
      },
    ],
  }),
  only(['src/**/*.ts', 'migrations/**', 'ormconfig.ts'], MAY_USE_CRYPTO, {
    'house/crypto-imports': [
      'error',
      { paths: ['node:crypto', 'crypto'].map((name) => ({ name, message: 'Use src/platform/random.' })) },
    ],
    'no-restricted-globals': ['error', { name: 'crypto', message: 'Use src/platform/random.' }],
  }),
  only(['src/**/*.ts'], MAY_CONNECT, {
    'house/pg-imports': [
      'error',
      {
        paths: [
          {
            name: 'pg',
            importNames: ['Client'],
            allowTypeImports: true,
            message: 'Use DatabaseClient: it finds the primary.',
          },
        ],
      },
    ],
  }),
  only(TYPESCRIPT, MAY_READ_THE_ENVIRONMENT, {
    'house/environment': [
      'error',
      {
        object: 'process',
        property: 'env',
        message: 'Only src/platform/config reads the environment: it checks every value at start.',
      },
    ],
    'house/environment-imports': [
      'error',
      {
        paths: ['node:process', 'process'].map((name) => ({
          name,
          importNames: ['env', 'default'],
          message: 'Only src/platform/config reads the environment.',
        })),
      },
    ],
  }),
  only(['src/**/*.ts'], MAY_READ_THE_CLOCK, {
    'house/clock': [
      'error',
      ...[
        'NewExpression[callee.name="Date"][arguments.length=0]',
        'CallExpression[callee.name="Date"]',
        'MemberExpression[object.name="Date"][property.name="now"]',
      ].map((selector) => ({ selector, message: 'Take the time from src/platform/clock, so that tests can set it.' })),
    ],
  }),
];

/** Names of values whose comparison must take constant time. */
const SECRET = '/(^|_|[a-z](?=[A-Z]))(token|secret|signature|mac|digest|password|hash)$/i';
const secretSides = ['left', 'left.property', 'right', 'right.property'].map((side) => `[${side}.name=${SECRET}]`);

const comparisons = [
  only(['src/**/*.ts'], ['src/**/*.spec.ts'], {
    'house/secret-compares': [
      'error',
      {
        selector:
          `BinaryExpression[operator=/^[!=]==?$/]:matches(${secretSides.join(', ')})` +
          ':not([right.type="Literal"]):not([left.type="Literal"])' +
          ':not([right.name="undefined"]):not([left.type="UnaryExpression"])',
        message: 'Compare secrets with timingSafeEqual, or look up their hash (CWE-208).',
      },
    ],
  }),
];

const tests = [
  only(TESTS, [], {
    // Responses and rows have the type `any`: the assertions check them.
    '@typescript-eslint/no-unsafe-argument': 'off',
    '@typescript-eslint/no-unsafe-assignment': 'off',
    '@typescript-eslint/no-unsafe-call': 'off',
    '@typescript-eslint/no-unsafe-member-access': 'off',
    '@typescript-eslint/no-unsafe-return': 'off',
    '@typescript-eslint/require-await': 'off',
    '@typescript-eslint/unbound-method': 'off',
    'house/skipped-tests': [
      'error',
      {
        selector: 'MemberExpression[object.name=/^(describe|it|test)$/][property.name=/^(only|skip|todo|failing)$/]',
        message: 'No skipped tests.',
      },
      { selector: 'CallExpression[callee.name=/^(fdescribe|fit|xdescribe|xit|xtest)$/]', message: 'No skipped tests.' },
    ],
  }),
];

const nodeGlobals = Object.fromEntries(
  [
    'AbortSignal',
    '__dirname',
    '__filename',
    'Buffer',
    'URL',
    'clearTimeout',
    'console',
    'exports',
    'fetch',
    'module',
    'performance',
    'process',
    'require',
    'setTimeout',
  ].map((name) => [name, 'readonly']),
);

export default defineConfig(
  {
    ignores: [
      'dist/',
      'coverage/',
      '.data/',
      'client/dist/',
      'examples/dist/',
      'client/src/schema.ts',
      'web/src/api/schema.d.ts',
      'docs/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  eslint.configs.recommended,
  {
    files: [...TYPESCRIPT, ...WEB],
    extends: [tseslint.configs.recommendedTypeChecked],
    // Faster than `projectService`, which updates its projects for each file.
    languageOptions: {
      parserOptions: { project: ['tsconfig.json', 'web/tsconfig.json'], tsconfigRootDir: import.meta.dirname },
    },
    plugins: { house },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      eqeqeq: 'error',
    },
  },
  { files: WEB, extends: [reactHooks.configs.flat.recommended] },
  { files: SCRIPTS, languageOptions: { globals: nodeGlobals } },
  { files: ['**/*.js'], languageOptions: { sourceType: 'commonjs' } },
  {
    files: BROWSER_SCRIPTS,
    languageOptions: {
      sourceType: 'script',
      globals: { document: 'readonly', fetch: 'readonly', MutationObserver: 'readonly' },
    },
  },
  ...limits,
  ...shape,
  ...borders,
  ...comparisons,
  ...tests,
);
