/**
 * Layers from bottom to top: a folder of src/ may import its own layer and lower layers. It reaches
 * a higher layer through an event, or through a handler registered at start. Add a new folder here
 * first.
 */
const LAYERS = [
  ['common'],
  ['config'],
  ['embedded-postgres', 'metrics'],
  ['database', 'access'],
  ['events', 'jobs', 'mail', 'idempotency', 'rate-limits'],
  ['roles', 'api-keys', 'operations', 'credentials'],
  ['sessions', 'user-mails'],
  ['users'],
  ['logins'],
  ['signing-keys', 'users-bulk', 'users-transfer'],
  ['auth'],
  ['recovery', 'docs', 'health', 'console', 'stats'],
  ['cli', 'cluster'],
];
/** Folders whose files are all public. Of other folders, only PUBLIC_FILES are. */
const OPEN = ['common', 'config', 'access'];
/** Access to the database, for repositories. */
const DATABASE = '^src/database/database\\.ts$';
/** Settings of connections, for the pool of the jobs. */
const CONNECTIONS = '^src/database/data-source\\.ts$';
const PUBLIC_FILES = String.raw`(\.(module|service|events|dto|decorator|interceptor|sql|metrics)|/user-fields)\.ts$`;

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
    rule('no-circular', 'Break the import cycle. Type imports count too.', {}, { circular: true }),
    ...layers,
    rule('known-folder', 'Add the new folder to LAYERS.', { path: '^src/[^/]+/', pathNot: folders(LAYERS.flat()) }, {}),
    rule(
      'common-is-leaf',
      'common/ imports no other folder of src/.',
      { path: '^src/common/' },
      { dependencyTypes: ['local'], pathNot: '^src/common/' },
    ),
    rule(
      'features-by-public-files',
      'Across features, import only *.module, *.service, *.events, *.dto, *.sql, *.metrics, *.decorator, ' +
        '*.interceptor and user-fields. A repository, entity or controller is private to its feature.',
      { path: '^src/([^/]+)/', pathNot: '^src/(cli|cluster)/' },
      { path: '^src/[^/]+/', pathNot: ['^src/$1/', folders(OPEN), PUBLIC_FILES, DATABASE, CONNECTIONS] },
    ),
    rule(
      'database-by-repositories',
      'SQL belongs into repositories.',
      { path: '^src/', pathNot: ['^src/database/', String.raw`\.repository\.ts$`] },
      { path: DATABASE },
    ),
    rule(
      'embedded-postgres-by-main',
      'Only the start of the service and the command line use the embedded database.',
      { path: '^src/', pathNot: ['^src/embedded-postgres/', ROOT_FILES, '^src/(cli|database)/'] },
      { path: '^src/embedded-postgres/' },
    ),
    rule(
      'app-by-modules',
      'The application is composed of modules: import no repository, entity or controller.',
      { path: [ROOT_FILES, '^src/cli/'] },
      { path: String.raw`^src/.+\.(repository|entity|controller)\.ts$` },
    ),
    rule(
      'src-stands-alone',
      'Production code imports neither tests nor tools. A glob finds the migrations.',
      { path: '^src/' },
      { path: ['^(test|bench|scripts|migrations)/', '^ormconfig'] },
    ),
    rule('no-spec-imports', 'Do not import a spec: move shared code.', {}, { path: SPECS }),
    rule(
      'no-dev-dependencies',
      'The image contains no development dependencies.',
      { path: ['^src/', '^migrations/', '^ormconfig'], pathNot: SPECS },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm'] },
    ),
    rule(
      'declared-dependencies',
      'Add the package to package.json.',
      {},
      { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    ),
    rule('resolvable', 'The import cannot be resolved.', {}, { couldNotResolve: true }),
    rule(
      'no-orphans',
      'Nothing imports this file.',
      {
        orphan: true,
        path: '^src/',
        pathNot: [String.raw`\.(entity|spec)\.ts$`, '^src/(main|cluster/worker|cli/.+)\\.ts$', '^src/.+/templates/'],
      },
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
