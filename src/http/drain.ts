import { Server, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { monotonicMs } from '../platform/clock';
import { isWorker } from '../platform/instance';

/** Milliseconds for running requests to finish. */
export const drainMs = 10_000;
/** Maximum milliseconds to accept connections that clients opened before the listener closes. */
const acceptMs = 1_000;
/**
 * Milliseconds in which clients may send a request on an idle connection after the listener closed.
 */
const graceMs = 500;
const sweepMs = 100;
/** Milliseconds for the primary process to pass an accepted connection to a worker. */
const handOverMs = 20;
/** Milliseconds for all workers to leave their common listener. */
const allLeaveMs = 200;

type HttpServer = FastifyInstance['server'];

/**
 * Stops the HTTP server without dropping requests. A connection must not be closed while a request
 * may be on its way, unless the last response had the header `Connection: close`.
 */
@Injectable()
export class Drain {
  private readonly sockets = new Set<Socket>();
  private stopping = false;
  private closesConnections = false;
  private server: HttpServer | null = null;
  private listenerClosed: Promise<void> | null = null;
  private connectionsClosed: Promise<void> | null = null;

  /** Whether the service is stopping and should get no further requests. */
  get isStopping(): boolean {
    return this.stopping;
  }

  get isListening(): boolean {
    return this.server?.listening === true;
  }

  /** Watches the connections of a server. Call it before the server listens. */
  attach(fastify: FastifyInstance): void {
    const { server } = fastify;
    this.server = server;
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    fastify.addHook('onSend', (_request, reply, _payload, done) => {
      if (this.closesConnections) void reply.header('connection', 'close');
      done();
    });
    fastify.addHook('preClose', async () => {
      await this.closeListener();
      await this.connectionsClosed;
    });
  }

  /** Makes the service not ready, and closes each connection after its next response. */
  begin(): void {
    this.stopping = true;
    this.closesConnections = true;
  }

  /**
   * Closes the listener, and then the connections: running requests have 10 s, idle connections
   * half a second. `close` of Fastify waits until all connections are closed.
   * Call this method before `close` of Fastify, which alone would close idle connections while
   * clients can still reconnect.
   */
  closeListener(): Promise<void> {
    this.stopping = true;
    this.listenerClosed ??= this.server?.listening === true ? this.stopListening(this.server) : Promise.resolve();
    return this.listenerClosed;
  }

  private async stopListening(server: HttpServer): Promise<void> {
    const closed = new Promise((resolve) => server.once('close', resolve));
    const cut = setTimeout(() => server.closeAllConnections(), drainMs);
    this.closesConnections = false;
    await acceptPending(server);
    // Closes the listener only. `close` of the HTTP server would also close idle connections.
    Server.prototype.close.call(server);
    // Keep connections open until all workers have left: a client that reconnects earlier would
    // reach a closing listener.
    if (isWorker) await delay(allLeaveMs);
    this.closesConnections = true;
    const graceUntil = monotonicMs() + graceMs;
    // One turn of the event loop first, to read requests that have arrived on idle connections.
    const sweep = setInterval(() => void turn().then(() => this.closeIdle(server, graceUntil)), sweepMs);
    this.connectionsClosed = closed.then(() => {
      clearTimeout(cut);
      clearInterval(sweep);
    });
  }

  private closeIdle(server: HttpServer, graceUntil: number): void {
    // Node counts a connection as idle although its client has not read all of the last response.
    const isSending = [...this.sockets].some(({ writableLength }) => writableLength > 0);
    if (monotonicMs() < graceUntil || isSending) return;
    server.closeIdleConnections();
    // Node does not count a connection as idle that never sent a byte, such as a spare connection
    // of a load balancer.
    for (const socket of this.sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}

/**
 * Waits until the pending connections are accepted, because closing the listener would reset them.
 * Node accepts one connection in each turn of the event loop.
 */
async function acceptPending(server: HttpServer): Promise<void> {
  const until = monotonicMs() + acceptMs;
  let quietTurns = 0;
  const reset = () => (quietTurns = 0);
  server.on('connection', reset);
  // Two turns, because the first one may have begun before.
  while (quietTurns < 2 && monotonicMs() < until) {
    await (isWorker ? delay(handOverMs) : turn());
    quietTurns++;
  }
  server.off('connection', reset);
}
