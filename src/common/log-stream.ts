import { destination } from 'pino';
import { currentTimeText, monotonicMs } from './clock';

/** So long may a line wait for others; no longer than a person who watches it notices. */
const flushEveryMs = 100;
/**
 * What is kept of lines that cannot be written, in bytes: some ten thousand lines. Those that find
 * no room are dropped.
 */
const keepAtMost = 4 * 1_024 * 1_024;
/** So long a process that ends waits for a reader that takes nothing, and for one that is slow. */
const lastWordsMs = { silent: 300, slow: 2_000 };

let stream: ReturnType<typeof destination> | null = null;
let dropped = 0;
let written = 0;
/** why the last try to write came to nothing */
let fault: string | null = null;

/**
 * Puts a line into the log on stdout, where it is written together with others a tenth of a second
 * later at the latest. What cannot be written (a full disk, a pipe that nobody reads) is kept up to
 * 4 MiB and the rest dropped; once writing works again a line says how many were. Waits for no
 * reader.
 */
export function writeSoon(line: string): void {
  stream ??= open();
  stream.write(line);
}

/**
 * As `writeSoon`, but at once, after all that came before: for lines that must not be lost when the
 * process is killed.
 */
export function writeNow(line: string): void {
  writeSoon(line);
  flush();
}

function open(): ReturnType<typeof destination> {
  // whoever asks Node for `process.stdout` makes a pipe or socket there refuse what it has no room
  // for, instead of waiting until somebody reads
  const { fd } = process.stdout;
  // `sync`: a thread of the pool that waits for a full disk or a reader would be missing where
  // passwords are hashed
  const opened = destination({
    dest: fd,
    minLength: 4_096,
    maxLength: keepAtMost,
    sync: true,
    retryEAGAIN: () => false,
  });
  // pino's own never writes again when a reader has gone; a named pipe may find another
  opened.removeAllListeners('error');
  opened.on('error', (error: NodeJS.ErrnoException) => (fault = error.code ?? error.message));
  opened.on('drop', () => dropped++);
  opened.on('write', (bytes: number) => (written += bytes));
  opened.on('drain', tellDropped);
  setInterval(flush, flushEveryMs).unref();
  process.once('exit', writeRest);
  return opened;
}

function flush(): string | null {
  fault = null;
  stream?.flush();
  return fault;
}

function tellDropped(): void {
  if (dropped === 0) return;
  const lines = dropped;
  dropped = 0;
  writeNow(`{"level":40,"time":"${currentTimeText()}","lines":${lines},"msg":"log lines dropped"}\n`);
}

/** What is left when the process ends, and how many lines were dropped. */
function writeRest(): void {
  const began = monotonicMs();
  if (writeAll(began)) tellDropped();
  writeAll(began);
}

/** Not by `flushSync`, which tries for ever. False when the reader did not take all of it. */
function writeAll(began: number): boolean {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  let [before, movedAt] = [written, monotonicMs()];
  // the first leaves up to `minLength`
  while ((flush() ?? flush()) === 'EAGAIN') {
    const now = monotonicMs();
    if (written > before) [before, movedAt] = [written, now];
    if (now > movedAt + lastWordsMs.silent || now > began + lastWordsMs.slow) return false;
    Atomics.wait(clock, 0, 0, 5);
  }
  return fault === null;
}
