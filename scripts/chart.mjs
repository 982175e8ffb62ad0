// `npm run chart`: checks the Helm chart with each set of example values.
// Lints and renders it, validates the result, and compares it with the golden files.
// `npm run chart -- --write` updates the golden files, `--install` only installs the programs.
//
// helm and kubeconform come from PATH, or Go builds them once. The schemas of Kubernetes come from
// a Python package. Both are kept in the user's cache. test/deploy/schemas has the schemas of the
// custom resources.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

const KUBERNETES = '1.34.0';
const SCHEMAS = 'kubernetes-validate==1.37.0';
const TOOLS = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0',
};

const chart = 'deploy/helm/carrier-identity';
const examples = 'deploy/helm/examples';
const golden = 'test/deploy/golden';
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'carrier-identity', 'chart');
process.chdir(join(import.meta.dirname, '..'));

const helm = tool('helm');
const kubeconform = tool('kubeconform');
const schemas = kubernetesSchemas();
if (process.argv.includes('--install')) process.exit(0);
const validated = [];
for (const example of readdirSync(examples)) {
  const values = ['--kube-version', KUBERNETES, '--values', join(examples, example, 'values.yaml')];
  run(helm, ['lint', '--strict', '--quiet', chart, ...values]);
  const rendered = run(helm, ['template', 'identity', chart, '--namespace', 'platform', ...values]);
  compare(join(golden, `${example}.yaml`), rendered);
  const manifests = readdirSync(join(examples, example)).filter((file) => file !== 'values.yaml');
  validated.push(join(golden, `${example}.yaml`), ...manifests.map((file) => join(examples, example, file)));
}
const locations = [schemas, 'test/deploy/schemas'].map(
  (folder) => `${folder}/{{ .ResourceKind }}{{ .KindSuffix }}.json`,
);
const options = locations.flatMap((location) => ['-schema-location', location]);
console.log(run(kubeconform, ['-strict', '-summary', ...options, ...validated]).trim());

function compare(file, rendered) {
  if (process.argv.includes('--write')) return writeFileSync(file, rendered);
  const { status } = spawnSync('diff', ['-u', file, '-'], { input: rendered, stdio: ['pipe', 2, 2] });
  if (status !== 0) fail(`The chart renders something else than ${file}: npm run chart -- --write`);
}

/** Returns the path of a program, which is built if it is not installed. */
function tool(name) {
  if (spawnSync(name, ['--help']).error === undefined) return name;
  const built = join(cache, 'bin', name);
  if (existsSync(built)) return built;
  if (spawnSync('go', ['version']).error !== undefined) fail(`${name} is missing: install it, or Go to build it.`);
  console.error(`Building ${name}: takes minutes, once.`);
  run('go', ['install', TOOLS[name]], { GOBIN: join(cache, 'bin') });
  return built;
}

/** Returns a folder with the schemas of the package, each with its definitions. */
function kubernetesSchemas() {
  const version = `v${KUBERNETES}-local-strict`;
  const folder = join(cache, version);
  if (existsSync(folder)) return folder;
  const packages = join(tmpdir(), `carrier-identity-schemas-${process.pid}`);
  run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', packages, SCHEMAS]);
  const source = join(packages, 'kubernetes_validate', 'kubernetes-json-schema', version);
  const { $defs } = JSON.parse(readFileSync(join(source, '_definitions.json'), 'utf8'));
  const kinds =
    /^(deployment|horizontalpodautoscaler|ingress|job|networkpolicy|poddisruptionbudget|service|serviceaccount)-/;
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(source).filter((name) => kinds.test(name))) {
    const schema = JSON.parse(readFileSync(join(source, file), 'utf8').replaceAll('/api/_definitions.json#', '#'));
    writeFileSync(join(folder, file), JSON.stringify({ ...schema, $defs }));
  }
  return folder;
}

/** Runs a program and returns its output. Ends this script if the program fails. */
function run(program, args, env = {}) {
  try {
    return execFileSync(program, args, {
      encoding: 'utf8',
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch ({ message, stdout }) {
    fail(`${message}\n${stdout ?? ''}`);
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
