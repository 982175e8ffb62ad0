/**
 * Layers from bottom to top. A folder of src/ may import its own layer and lower layers. It reaches
 * a higher layer through an event, or through a handler registered at start. Folders in one string
 * are one feature: they change together and may import each other's private files. A folder
 * includes its subfolders, except those with an entry of their own. Add a new folder here first.
 */
const LAYERS = [
  ['http platform platform/log'],
  ['platform/config'],
  ['platform/embedded-postgres', 'platform/metrics'],
  ['platform/database', 'access'],
  ['audit', 'platform/jobs', 'platform/mail', 'http/idempotency', 'access/rate-limits'],
  ['access/roles', 'access/api-keys', 'users/operations', 'auth/passwords'],
  ['auth/sessions', 'users/mails', 'access/address-blocks'],
  ['users users/changes'],
  ['auth auth/login auth/second-factors auth/tokens auth/user-security', 'auth/signing-keys'],
  ['webhooks'],
  ['users/bulk', 'users/transfer', 'auth/recovery', 'http/docs', 'health', 'console', 'stats'],
  ['cli', 'process'],
];
/** Access to the database, for repositories. */
const DATABASE = '^src/platform/database/database\\.ts$';
/** Files that only their feature imports. Others may import the types of a repository. */
const PRIVATE = String.raw`\.(repository|entity|controller)\.ts$`;

const FOLDERS = LAYERS.flat().flatMap((feature) => feature.split(' '));
/** Returns a pattern for the files of a folder that belong to no other folder of the list. */
const folder = (name) => {
  const others = FOLDERS.filter((other) => other.startsWith(`${name}/`)).map((other) => other.slice(name.length + 1));
  return others.length === 0 ? `^src/${name}/` : `^src/${name}/(?!(${others.join('|')})/)`;
};
const folders = (features) => features.flatMap((feature) => feature.split(' ')).map(folder);
const ROOT_FILES = '^src/[^/]+$';
const SPECS = String.raw`\.spec\.ts$`;

const rule = (name, comment, from, to) => ({ name, severity: 'error', comment, from, to });

const layers = LAYERS.slice(0, -1).map((layer, index) =>
  rule(
    `layer-${index + 1}`,
    `${layer.join(', ')} must not import from a layer above.`,
    { path: folders(layer), pathNot: SPECS },
    { path: [...folders(LAYERS.slice(index + 1).flat()), ROOT_FILES] },
  ),
);

const features = LAYERS.slice(0, -1)
  .flat()
  .map((feature) =>
    rule(
      `private-files-${feature.split(' ')[0].replace('/', '-')}`,
      'A repository, entity or controller is private to its feature: use its service.',
      { path: folders([feature]) },
      { path: PRIVATE, pathNot: folders([feature]), dependencyTypesNot: ['type-only'] },
    ),
  );

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    rule('no-circular', 'Break the import cycle. Type imports count too.', {}, { circular: true }),
    ...layers,
    ...features,
    rule('known-folder', 'Add the new folder to LAYERS.', { path: '^src/[^/]+/', pathNot: folders(FOLDERS) }, {}),
    rule(
      'database-by-repositories',
      'SQL belongs into repositories.',
      { path: '^src/', pathNot: ['^src/platform/database/', String.raw`\.repository\.ts$`, SPECS] },
      { path: DATABASE },
    ),
    rule(
      'embedded-postgres-by-main',
      'Only the start of the service and the command line use the embedded database.',
      {
        path: '^src/',
        pathNot: ['^src/platform/embedded-postgres/', ROOT_FILES, '^src/(cli|process|platform/database)/'],
      },
      { path: '^src/platform/embedded-postgres/' },
    ),
    rule(
      'shell-by-the-api',
      'These commands call the API as a module does: import nothing from the service.',
      { path: '^src/cli/shell/' },
      { path: '^src/', pathNot: ['^src/cli/(shell/|command-error)', '^src/platform/(clock|config/shell-environment)'] },
    ),
    rule(
      'app-by-modules',
      'The application is composed of modules: import no repository, entity or controller.',
      { path: [ROOT_FILES, '^src/(cli|process)/'] },
      { path: PRIVATE },
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
      // Optional peers of the client are undeclared to the tool.
      { dependencyTypes: ['npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    ),
    rule('resolvable', 'The import cannot be resolved.', {}, { couldNotResolve: true }),
    rule(
      'no-orphans',
      'Nothing imports this file.',
      {
        orphan: true,
        path: '^src/',
        pathNot: [String.raw`\.(entity|spec)\.ts$`, '^src/(main|process/worker|cli/.+)\\.ts$', '^src/.+/templates/'],
      },
      {},
    ),
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^dist/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
