// Runs all tests, and all checks beside the build and the tests. The checks have the lowest
// priority: they use the processor while the tests wait for a database, a process or a timeout.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const os = require('node:os');

/** Semi-space of the test workers in MB. A large one saves collections while test files load. */
const semiSpaceMb = 32;

/** Starts `npm run <name>`. */
function start(name, output) {
  return spawn('npm', ['run', '-s', name], {
    stdio: ['ignore', output, output],
    shell: os.platform() === 'win32',
  });
}

/** Runs a check, and returns its exit code and output. */
async function check(name) {
  const child = start(name, 'pipe');
  os.setPriority(child.pid, os.constants.priority.PRIORITY_LOW);
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
  const [code] = await once(child, 'close');
  // A failure is printed early, and again after the results of the tests.
  if (code !== 0) process.stderr.write(Buffer.concat(output));
  return { name, code, output: Buffer.concat(output) };
}

/** Compiles the service and the console, and returns the exit code. */
async function build() {
  const [code] = await once(start('build', 'inherit'), 'close');
  return code;
}

/** Runs all tests, with the arguments of this script, and returns the exit code. */
async function test() {
  const jest = [require.resolve('jest/bin/jest'), '--roots', 'test', ...process.argv.slice(2)];
  const child = spawn(process.execPath, [`--max-semi-space-size=${semiSpaceMb}`, ...jest], { stdio: 'inherit' });
  const [code] = await once(child, 'close');
  return code;
}

async function run() {
  const built = build();
  const checking = check('check');
  const checkingGenerated = Promise.all([built, checking]).then(() => check('generate:check'));
  const code = (await built) || (await test());
  const checks = [await checking, await checkingGenerated];
  for (const { output } of checks) process.stdout.write(output);
  const failed = checks.filter((result) => result.code !== 0).map(({ name }) => name);
  if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}`);
  process.exitCode = code === 0 && failed.length === 0 ? 0 : 1;
}

void run();
