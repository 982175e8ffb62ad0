/**
 * From the bottom up: a folder of src/ may import its own layer and those before it. An upward need
 * goes through an event, or through a handler registered at start. A new folder gets its layer here
 * first.
 */
const LAYERS = [
  ['common'],
  ['config'],
  ['embedded-postgres'],
  ['database', 'access'],
  ['events', 'jobs', 'mail', 'idempotency'],
  ['roles', 'api-keys', 'rate-limits', 'operations', 'credentials'],
  ['sessions'],
  ['users'],
  ['logins'],
  ['signing-keys', 'users-bulk', 'users-transfer'],
  ['auth'],
  ['recovery', 'docs', 'health'],
  ['cli'],
];
/**
 * Folders that every feature above may use in full; of the others only the files below are public.
 */
const OPEN = ['common', 'config', 'access'];
/** The one way to the database, for repositories. */
const DATABASE = '^src/database/database\\.ts$';
const PUBLIC_FILES = String.raw`\.(module|service|events|dto|decorator|interceptor|sql)\.ts$`;

const folders = (names) => `^src/(${names.join('|')})/`;
const ROOT_FILES = '^src/[^/]+$';
const SPECS = String.raw`\.spec\.ts$`;

const rule = (name, comment, from, to) => ({ name, severity: 'error', comment, from, to });

const layers = LAYERS.map((layer, index) => {
  const above = LAYERS.slice(index + 1).flat();
  const to = index === LAYERS.length - 1 ? '^src/main\\.ts$' : [folders(above), ROOT_FILES];
  return rule(
    `layer-${layer[0]}`,
    `${layer.join(', ')} must not import from a layer above.`,
    { path: folders(layer) },
    { path: to },
  );
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    rule('no-circular', 'Type imports count: a circle is two files that are one.', {}, { circular: true }),
    ...layers,
    rule(
      'known-folder',
      'Give a new folder its place in LAYERS.',
      { path: '^src/[^/]+/', pathNot: folders(LAYERS.flat()) },
      {},
    ),
    rule(
      'common-is-leaf',
      'common/ imports nothing of ours.',
      { path: '^src/common/' },
      { dependencyTypes: ['local'], pathNot: '^src/common/' },
    ),
    rule(
      'features-by-their-front-door',
      'Across features only *.module, *.service, *.events, *.dto, *.sql, *.decorator and *.interceptor: a repository, entity or controller belongs to its feature alone.',
      { path: '^src/([^/]+)/', pathNot: '^src/cli/' },
      { path: '^src/[^/]+/', pathNot: ['^src/$1/', folders(OPEN), PUBLIC_FILES, DATABASE] },
    ),
    rule(
      'database-by-repositories',
      'SQL has one place: repositories.',
      { path: '^src/', pathNot: ['^src/database/', String.raw`\.repository\.ts$`] },
      { path: DATABASE },
    ),
    rule(
      'embedded-postgres-by-main',
      'Only the start of the service uses the development database.',
      { path: '^src/', pathNot: ['^src/embedded-postgres/', ROOT_FILES, '^src/(cli|database)/'] },
      { path: '^src/embedded-postgres/' },
    ),
    rule(
      'app-by-the-front-door',
      'The application is put together from modules: no repository, entity or controller by hand.',
      { path: [ROOT_FILES, '^src/cli/'] },
      { path: String.raw`^src/.+\.(repository|entity|controller)\.ts$` },
    ),
    rule(
      'src-stands-alone',
      'What runs in production needs neither tests nor tools; migrations are found by a glob.',
      { path: '^src/' },
      { path: ['^(test|bench|scripts|migrations)/', '^ormconfig'] },
    ),
    rule('no-spec-imports', 'A spec is no library: move what is shared.', {}, { path: SPECS }),
    rule(
      'no-dev-dependencies',
      'The image is installed without them.',
      { path: ['^src/', '^migrations/', '^ormconfig'], pathNot: SPECS },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm'] },
    ),
    rule(
      'declared-dependencies',
      'Not in package.json, so only there by luck.',
      {},
      { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    ),
    rule('resolvable', 'The import leads nowhere.', {}, { couldNotResolve: true }),
    rule(
      'no-orphans',
      'Nothing uses this file.',
      { orphan: true, path: '^src/', pathNot: [String.raw`\.(entity|spec)\.ts$`, '^src/(main|cli/.+)\\.ts$'] },
      {},
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
