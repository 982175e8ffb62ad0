// Child processes of a run: CPU pinning, commands, resource use and cleanup.
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { createServer } = require('node:net');
const path = require('node:path');

/** Core of the measured process. The load, PostgreSQL and this process share the other core. */
const MEASURED_CORE = '0';
const OTHER_CORE = '1';
const STOP_PATIENCE_MS = 10_000;
const TICKS_PER_SECOND = 100;

const children = new Set();

/**
 * Pins this process and its children to the second core. Returns false if pinning is not possible.
 */
function pinSelf() {
  const possible = [MEASURED_CORE, OTHER_CORE].every((core) => spawnSync('taskset', ['-c', core, 'true']).status === 0);
  if (possible) execFileSync('taskset', ['-acp', OTHER_CORE, String(process.pid)], { stdio: 'ignore' });
  return possible;
}

/** Starts a Node process. A measured process runs on the first core if processes are pinned. */
function startNode(
  args,
  { measured, pinned, ipc = false, env = process.env, cwd = process.cwd(), stdout = 'inherit' },
) {
  const command = measured && pinned ? ['taskset', '-c', MEASURED_CORE, process.execPath] : [process.execPath];
  const child = spawn(command[0], [...command.slice(1), ...args], {
    env,
    cwd,
    stdio: ['ignore', stdout, 'inherit', ipc ? 'ipc' : 'ignore'],
  });
  children.add(child);
  child.ended = new Promise((resolve) => {
    child.once('error', resolve);
    child.once('exit', resolve);
  }).then(() => children.delete(child));
  return child;
}

/** Starts a script of this folder that handles the commands of `ask`. */
function startHelper(file, pinned, measured = false) {
  return startNode([path.join(__dirname, file)], { measured, pinned, ipc: true });
}

/** Stops all child processes: SIGTERM first, SIGKILL after a timeout. */
async function stopChildren() {
  await Promise.all(
    [...children].map(async (child) => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_PATIENCE_MS);
      await child.ended;
      clearTimeout(timer);
    }),
  );
}

/** Sends a command to a process and returns its response. */
function ask(child, command, argument) {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error(`${child.spawnargs.join(' ')} ended`));
    child.once('exit', gone);
    child.once('message', ({ answer, error }) => {
      child.off('exit', gone);
      if (error === undefined) resolve(answer);
      else reject(new Error(error));
    });
    child.send({ command, argument });
  });
}

/** Handles the commands of `ask`. The process exits when its parent ends. */
function answerParent(commands) {
  process.on('message', ({ command, argument }) => {
    Promise.resolve(argument)
      .then(commands[command])
      .then(
        (answer) => process.send({ answer }),
        (error) => process.send({ error: String(error.stack) }),
      );
  });
  process.once('disconnect', () => process.exit());
}

/** Returns the CPU time of a process in seconds, or NaN outside Linux. */
function cpuSeconds({ pid }) {
  try {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return NaN;
  }
}

/** Returns the resident memory of a process, or its peak (VmHWM). NaN outside Linux. */
function rssMiB({ pid }, field = 'VmRSS') {
  try {
    const [, kibibytes] = new RegExp(`${field}:\\s+(\\d+)`).exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Math.round(kibibytes / 1024);
  } catch {
    return NaN;
  }
}

/** Returns a free port. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

module.exports = { answerParent, ask, cpuSeconds, freePort, pinSelf, rssMiB, startHelper, startNode, stopChildren };
