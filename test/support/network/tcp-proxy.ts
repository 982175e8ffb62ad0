import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy on 127.0.0.1 that can fail like a network. */
export class TcpProxy {
  private readonly sockets = new Set<Socket>();
  /** first message of each connection, by its two sockets */
  private readonly openings = new Map<Socket[], string>();
  private server: Server | null = null;
  private port = 0;
  private frozen = false;
  private awaited: { text: string; after: string; held: () => void } | null = null;
  private releases: (() => void)[] = [];
  private swallowed: string | null = null;

  private constructor(private target: URL) {}

  /**
   * @param target URL of the server behind it, such as `postgres://user:password@127.0.0.1:5432/db`
   */
  static async start(target: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(target));
    await proxy.restore();
    return proxy;
  }

  /** The URL of the target through this proxy. */
  get url(): string {
    const url = new URL(this.target);
    [url.hostname, url.port] = ['127.0.0.1', String(this.port)];
    return url.href;
  }

  /** Number of open connections on the side of the client. */
  get connections(): number {
    return this.sockets.size / 2;
  }

  /** Resets all connections and refuses new ones, like a stopped server. */
  async cut(): Promise<void> {
    const { server } = this;
    this.server = null;
    const closed = server === null ? null : once(server.close(), 'close');
    // A reset during a shutdown fails in libuv and leaves a handle that keeps the process alive.
    for (const socket of this.sockets)
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    await closed;
  }

  /** Forwards new connections to another server, and keeps open connections where they are. */
  moveTo(target: string): void {
    this.target = new URL(target);
  }

  /** Forwards nothing but keeps connections open and accepts new ones, like a hanging server. */
  freeze(): void {
    this.frozen = true;
    for (const socket of this.sockets) socket.pause();
  }

  /**
   * Freezes the open connections whose first message contains a text, and returns their number.
   * New connections work.
   */
  freezeOpen(text: string): number {
    const pairs = [...this.openings].filter(([, opening]) => opening.includes(text)).map(([pair]) => pair);
    for (const socket of pairs.flat()) socket.pause();
    return pairs.length;
  }

  /**
   * Forwards the next message with this text, but neither its response nor later messages. Resolves
   * when the server has responded.
   * @param after earlier text of the same connection, to identify it
   */
  holdAnswerTo(text: string, after = ''): Promise<void> {
    return new Promise((held) => (this.awaited = { text, after, held }));
  }

  /** Drops all responses that contain this text, like a pooler. */
  swallow(text: string): void {
    this.swallowed = text;
  }

  /** Forwards everything that was held. */
  release(): void {
    for (const release of this.releases.splice(0)) release();
  }

  /** Forwards everything again, on the same port. */
  async restore(): Promise<void> {
    this.frozen = false;
    for (const socket of this.sockets) socket.resume();
    if (this.server !== null) return;
    this.server = createServer({ noDelay: true }, (client) => this.join(client)).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  private join(client: Socket): void {
    let held: (() => void) | null = null;
    let isAfter = false;
    const server = connect({ host: this.target.hostname, port: Number(this.target.port || 5432), noDelay: true });
    const pair = [client, server];
    client.once('data', (chunk) => this.openings.set(pair, chunk.toString('latin1')));
    client.once('close', () => this.openings.delete(pair));
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(from);
      from.on('data', (chunk) => {
        if (from === server && held !== null) {
          this.releases.push(() => {
            held = null;
            to.write(chunk);
          });
          return held();
        }
        if (from === server && this.swallowed !== null && chunk.includes(this.swallowed)) return;
        to.write(chunk);
        if (from === server || this.awaited === null) return;
        isAfter ||= chunk.includes(this.awaited.after);
        if (!isAfter || !chunk.includes(this.awaited.text)) return;
        ({ held } = this.awaited);
        this.awaited = null;
      });
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      if (this.frozen) from.pause();
    }
  }
}
