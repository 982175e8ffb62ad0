import { destination } from 'pino';
import { monotonicMs } from '../clock';
import { logLine } from './log-line';

/** Maximum time until a line is written. */
const flushEveryMs = 100;
/** Maximum size of unwritten lines, about ten thousand lines. Further lines are dropped. */
const keepAtMost = 4 * 1_024 * 1_024;
/** Time that an exiting process waits for a slow reader. */
const exitWaitMs = 3_000;

let stream: ReturnType<typeof destination> | null = null;
let dropped = 0;
/** error code of the last failed write */
let fault: string | null = null;

/**
 * Writes a line to stdout within 100 ms, together with others. Never blocks on a slow reader.
 * Up to 4 MiB are kept while writing fails, for example on a full disk. Further lines are dropped,
 * and the number of dropped lines is logged once writing works again.
 */
export function writeSoon(line: string): void {
  stream ??= open();
  stream.write(line);
}

/**
 * Writes all pending lines and this line immediately, so that a killed process does not lose it.
 */
export function writeNow(line: string): void {
  writeSoon(line);
  flush();
}

function open(): ReturnType<typeof destination> {
  // Accessing `process.stdout` makes a pipe or socket non-blocking: a full pipe fails instead of
  // waiting for its reader.
  const { fd } = process.stdout;
  // `sync`, because a pool thread that waits for a disk or a reader could not hash passwords
  // meanwhile.
  const opened = destination({
    dest: fd,
    minLength: 4_096,
    maxLength: keepAtMost,
    sync: true,
    retryEAGAIN: () => false,
  });
  // pino's handler stops writing when a reader disconnects, but a named pipe can get another
  // reader.
  opened.removeAllListeners('error');
  opened.on('error', (error: NodeJS.ErrnoException) => (fault = error.code ?? error.message));
  opened.on('drop', (lines: string) => (dropped += lines.split('\n').length - 1));
  opened.on('drain', reportDropped);
  setInterval(flush, flushEveryMs).unref();
  process.once('exit', writeRest);
  return opened;
}

function flush(): string | null {
  fault = null;
  stream?.flush();
  return fault;
}

function reportDropped(): void {
  if (dropped === 0) return;
  const lines = dropped;
  dropped = 0;
  writeNow(logLine('warn', 'log lines dropped', { lines }));
}

/** Writes the remaining lines and the number of dropped lines when the process exits. */
function writeRest(): void {
  const until = monotonicMs() + exitWaitMs;
  writeUntil(until);
  reportDropped();
  writeUntil(until);
}

/** Writes all lines while a reader reads them. `flushSync` has no time limit. */
function writeUntil(until: number): void {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  // The first flush leaves up to `minLength` bytes.
  while ((flush() ?? flush()) === 'EAGAIN' && monotonicMs() < until) Atomics.wait(clock, 0, 0, 1);
}
