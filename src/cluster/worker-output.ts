import type { Readable } from 'node:stream';
import { writeNow } from '../common/log-stream';

/**
 * Writes the log of a worker to stdout, in whole lines. If several processes wrote to one pipe,
 * long lines would mix.
 */
export function passOnLines(output: Readable): void {
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) writeNow(rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
  });
  output.on('end', () => {
    if (rest !== '') writeNow(`${rest}\n`);
  });
}
