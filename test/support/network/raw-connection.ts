import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { statusOf } from './raw-request';

/**
 * A raw connection for requests that no HTTP client sends, at any speed. It continues to send after
 * the server has ended its side.
 */
export class RawConnection {
  /** all received data */
  received = '';
  /** code of the connection error, or null */
  error: string | null = null;
  /** ms until the server ended its side */
  readonly ended: Promise<number>;
  /** ms until both sides were closed */
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
    // A half-open connection must not keep the process of the tests alive.
    socket.unref();
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection;
  }

  /** status of the first response, 0 without one */
  get status(): number {
    return statusOf(this.received);
  }

  /** number of responses */
  get answers(): number {
    return this.received.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0;
  }

  get open(): boolean {
    return !this.socket.destroyed;
  }

  /** Sends bytes, and waits until they have been sent if the server is slow. */
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

/** Returns the head of a request. A header with the value undefined is omitted. */
export function requestHead(method: string, path: string, headers: Record<string, string | undefined>): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}: ${value}\r\n`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Returns a chunk of a chunked body. */
export function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}
