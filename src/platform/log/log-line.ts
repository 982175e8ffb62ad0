import { hostname } from 'node:os';
import { currentTimeText } from '../clock';
import { version } from '../project';

/** Fields of each line that identify the instance. */
export const writer = { version, instance: `${hostname()}:${process.pid}` };

const writerText = JSON.stringify(writer).slice(1, -1);

/** Levels of lines that are written without a logger. */
export type LineLevel = 'info' | 'warn' | 'error' | 'fatal';

/** Returns the first fields of a line as JSON, without braces. */
export function lineHead(level: LineLevel): string {
  return `"level":"${level}","time":"${currentTimeText()}",${writerText}`;
}

/** Returns a complete line. No field may contain a secret. */
export function logLine(level: LineLevel, msg: string, fields: Record<string, unknown> = {}): string {
  return `{${lineHead(level)},${JSON.stringify({ ...fields, msg }).slice(1)}\n`;
}
