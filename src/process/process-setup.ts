import { setFlagsFromString } from 'node:v8';
import { logLine } from '../platform/log/log-line';
import { writeNow } from '../platform/log/log-stream';
import { lowerPoolPriority } from '../platform/pool-priority';
import { name } from '../platform/project';
import { withoutInput } from './start-fault';

/**
 * Growth of the heap, in percent, after which V8 runs a full collection.
 * The default is above 100.
 */
const heapGrowingPercent = 50;

/** Sets up a process of the service: thread priority, heap, and the log of its last error. */
export function setUpProcess(): void {
  lowerPoolPriority();
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
  process.on('unhandledRejection', (error) => logFault('error', 'unhandled rejection', error));
  // Node then prints the error to stderr and ends the process.
  process.on('uncaughtExceptionMonitor', (error) =>
    logFault('fatal', `${name} exits: uncaught exception`, withoutInput(error)),
  );
}

function logFault(level: 'error' | 'fatal', msg: string, error: unknown): void {
  writeNow(logLine(level, msg, { error: String(error), stack: (error as Error).stack }));
}
