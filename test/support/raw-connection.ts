import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { statusOf } from './raw-request';

/**
 * A connection over which a test sends what no HTTP client would, or as slowly as it likes; it goes
 * on sending when the other side has said that it will not.
 */
export class RawConnection {
  /** all that came back */
  received = '';
  /** why it broke; null when it did not */
  error: string | null = null;
  /** milliseconds until the other side ended it */
  readonly ended: Promise<number>;
  /** milliseconds until it was closed altogether */
  readonly closed: Promise<number>;

  private constructor(readonly socket: Socket) {
    const since = performance.now();
    socket.on('data', (chunk: Buffer) => (this.received += chunk.toString('latin1')));
    socket.on('error', (error: NodeJS.ErrnoException) => (this.error = error.code ?? error.message));
    this.ended = new Promise((ended) => socket.once('end', () => ended(performance.now() - since)));
    this.closed = new Promise((closed) => socket.once('close', () => closed(performance.now() - since)));
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection;
  }

  /** status of the first answer, 0 as long as there is none */
  get status(): number {
    return statusOf(this.received);
  }

  /** how many answers came */
  get answers(): number {
    return this.received.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0;
  }

  get open(): boolean {
    return !this.socket.destroyed;
  }

  /** Sends bytes, and waits until they have left if the other side is slow. */
  async send(bytes: string): Promise<void> {
    if (!this.open || this.socket.write(Buffer.from(bytes, 'latin1'))) return;
    await Promise.race([once(this.socket, 'drain').catch(() => undefined), this.closed]);
  }

  /**
   * Sends a text, or the text of each round, at an interval, `times` times or until the connection
   * is closed.
   */
  async trickle(text: string | ((round: number) => string), everyMs: number, times = Infinity): Promise<void> {
    for (let round = 0; round < times && this.open; round++) {
      await this.send(typeof text === 'string' ? text : text(round));
      await Promise.race([delay(everyMs), this.closed]);
    }
  }
}

/** The head of a request. A header that is undefined is left out. */
export function requestHead(method: string, path: string, headers: Record<string, string | undefined>): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}: ${value}\r\n`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A chunk of a body whose length is not told before. */
export function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}
