// The processes of a drill. All of them end with it, also after Ctrl+C and after an error.
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');

const NICENESS = '5';
const RESTART_MS = 2_000;

/** Returns a process and its descendants. */
function treeOf(pid) {
  const parents = fs.readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const [, parent] = fs.readFileSync(`/proc/${entry}/stat`, 'utf8').split(') ').at(-1).split(' ');
      return [[Number(entry), Number(parent)]];
    } catch {
      return [];
    }
  });
  const childrenOf = (one) => parents.filter(([, parent]) => parent === one).flatMap(([child]) => treeFrom(child));
  const treeFrom = (one) => [one, ...childrenOf(one)];
  return treeFrom(pid);
}

/** Sends a signal to processes, some of which may have ended. */
function signal(pids, name) {
  for (const pid of pids)
    try {
      process.kill(pid, name);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
}

/** Programs that run in the background, each with its own log file. */
class Processes {
  #running = new Map();
  #held = new Set();
  #ended = false;

  constructor(directory) {
    this.directory = directory;
  }

  /**
   * Starts a program.
   * @param options.restart whether to start it again when it ends, as systemd does
   */
  start(name, command, { restart = false, ...options } = {}) {
    if (this.#ended) return;
    this.#held.delete(name);
    const log = fs.openSync(path.join(this.directory, `${name}.log`), 'a');
    // In a session of its own, Ctrl+C reaches only the drill.
    const child = spawn('nice', ['-n', NICENESS, ...command], {
      stdio: ['ignore', log, log],
      detached: true,
      ...options,
    });
    fs.closeSync(log);
    this.#running.set(name, child);
    child.once('exit', () => {
      if (this.#running.get(name) === child) this.#running.delete(name);
      const again = () => !this.#held.has(name) && this.start(name, command, { restart, ...options });
      if (restart && !this.#held.has(name)) void delay(RESTART_MS, undefined, { ref: false }).then(again);
    });
  }

  /** Returns the id of a program, or undefined if it has ended. */
  pid(name) {
    return this.#running.get(name)?.pid;
  }

  /** Kills a program without a trace, and does not start it again. */
  async kill(name) {
    this.#held.add(name);
    const child = this.#running.get(name);
    if (child === undefined) return;
    child.kill('SIGKILL');
    while (child.exitCode === null && child.signalCode === null) await delay(10);
  }

  /** Kills all programs. */
  end() {
    this.#ended = true;
    for (const child of this.#running.values()) signal(treeOf(child.pid), 'SIGKILL');
  }
}

module.exports = { Processes, signal, treeOf };
