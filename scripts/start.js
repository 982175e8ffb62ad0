// `npm start`: builds if a source changed since the last complete build, then runs the service in
// this process, so that the service receives signals. With `--build` it only builds.
const { spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const at = (...names) => path.join(root, ...names);

const MAIN = at('dist', 'src', 'main.js');
const STAMP = at('dist', '.built');
const NEST = at('node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
const VITE = at('node_modules', 'vite', 'bin', 'vite.js');
const CLIENT = at('client', 'build.mjs');
const INPUTS = [
  'src',
  'migrations',
  'ormconfig.ts',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
  'openapi.json',
  'client',
  'web',
];

/** Returns whether a version is in a range such as `^20.19 || >=24.11`, the format of `engines`. */
function satisfies(version, range) {
  const [major, minor] = version.split('.').map(Number);
  return range.split('||').some((alternative) => {
    const [, operator, wantedMajor, wantedMinor] = /(\^|>=)(\d+)\.(\d+)/.exec(alternative);
    return major === Number(wantedMajor)
      ? minor >= Number(wantedMinor)
      : operator === '>=' && major > Number(wantedMajor);
  });
}

function filesIn(name) {
  if (!fs.existsSync(at(name)) || ['node_modules', 'dist'].includes(path.basename(name))) return [];
  if (!fs.statSync(at(name)).isDirectory()) return [name];
  return fs.readdirSync(at(name)).flatMap((child) => filesIn(path.join(name, child)));
}

/** Hashes names and contents, not times: a checkout changes times, and a deleted file has none. */
function fingerprint() {
  const hash = createHash('sha256');
  for (const file of INPUTS.flatMap(filesIn).sort()) hash.update(`\0${file}\0`).update(fs.readFileSync(at(file)));
  return hash.digest('hex');
}

function isBuilt(wanted) {
  // The command line loads the client.
  if (fs.existsSync(CLIENT) && !fs.existsSync(at('client', 'dist', 'cjs', 'index.js'))) return false;
  return fs.existsSync(MAIN) && fs.existsSync(STAMP) && fs.readFileSync(STAMP, 'utf8') === wanted;
}

function build() {
  const wanted = fingerprint();
  if (isBuilt(wanted)) return;
  console.error('Building: dist/ is missing, incomplete or older than the sources.');
  // Remove the stamp before the build, so that the next start repeats an interrupted build.
  fs.rmSync(STAMP, { force: true });
  // Before `nest build`, which reads the types of the client.
  run([CLIENT]);
  run([NEST, 'build']);
  // After `nest build`, which empties dist/.
  run([VITE, 'build', 'web', '--logLevel', 'error']);
  fs.writeFileSync(STAMP, wanted);
}

/** Runs a program of Node, with its output on stderr: stdout is the log of the service. */
function run(command) {
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) fail('The build failed.');
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const { node } = JSON.parse(fs.readFileSync(at('package.json'), 'utf8')).engines;
if (!satisfies(process.versions.node, node))
  fail(`Node ${process.versions.node} is not supported: this service requires ${node}.`);

// An installation without development dependencies has no compiler and runs the existing build.
if (fs.existsSync(NEST)) build();
else if (!fs.existsSync(MAIN)) fail('There is no build in dist/ and no compiler: run `npm ci` first.');

if (!process.argv.includes('--build')) require(MAIN);
