import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { monotonicMs } from '../../platform/clock';

/** Time to keep the socket open after an early error response, so that the client can read it. */
const lingerMs = 5_000;
const measureMs = 500;

type Reject = (error: Error, socket: Socket) => void;

/** Limits of the time in which a body must arrive. */
export interface ReceivingLimits {
  /** milliseconds until a body must be complete */
  bodyMs: number;
  /** minimum rate of an accepted upload, on average, after `bodyMs` and `uploadGraceMs` */
  uploadBytesPerSecond: number;
  /** milliseconds after `bodyMs` in which an accepted upload needs no minimum rate */
  uploadGraceMs: number;
}

/**
 * Ends requests whose body is not complete in time (slowloris).
 * Node's own limit is off, because it is the same for every request.
 * The deadline is lifted only for an upload that its handler has opened: the body of a request
 * without access must not hold a connection (H21). An opened upload must reach a minimum rate
 * instead.
 */
export function limitReceiving(fastify: FastifyInstance, limits: ReceivingLimits, reject: Reject): void {
  const deadlines = new WeakMap<IncomingMessage, NodeJS.Timeout>();
  fastify.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request;
    // The server sent `connection: close`. Further bytes are not a request (RFC 9112 §9.6).
    if (raw.socket.writableEnded) {
      raw.socket.destroy();
      return;
    }
    if (hasBody(raw.headers)) {
      const late = () => rejectLate(request, limits, reject);
      deadlines.set(raw, setTimeout(late, limits.bodyMs).unref());
    }
    done();
  });
  fastify.addHook('onResponse', ({ raw }, _reply, done) => {
    clearTimeout(deadlines.get(raw));
    done();
  });
  fastify.addHook('onSend', ({ raw }, reply, _payload, done) => {
    // Otherwise the server would have to read the rest of a rejected body before the next request
    // of the connection.
    if (raw.complete === false && hasBody(raw.headers)) {
      void reply.header('connection', 'close');
      closeInStages(raw);
    }
    done();
  });
}

/** Rejects a request whose body is late. For an opened upload, enforces a minimum rate instead. */
function rejectLate({ raw, upload }: FastifyRequest, limits: ReceivingLimits, reject: Reject): void {
  const { socket } = raw;
  // `complete` is undefined in requests of `inject`.
  if (raw.complete !== false || raw.destroyed) return;
  if (upload?.opened !== true) {
    reject(new Error('the body is late'), socket);
    return;
  }
  const since = monotonicMs() + limits.uploadGraceMs;
  const received = socket.bytesRead;
  const measure = setInterval(() => {
    const required = ((monotonicMs() - since) / 1_000) * limits.uploadBytesPerSecond;
    const isOver = raw.complete || raw.destroyed;
    if (!isOver && socket.bytesRead - received >= required) return;
    clearInterval(measure);
    if (!isOver) reject(new Error('the upload is too slow'), socket);
  }, measureMs).unref();
}

/** Returns whether a request announces a body. */
export function hasBody(headers: Record<string, unknown>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * Reads the rest of the body for up to 5 s after the response.
 * Closing a connection with unread bytes resets it, and a client that is still sending may never
 * read the response (RFC 9112 §9.6). Node calls `destroySoon` after a response with
 * `connection: close`.
 */
function closeInStages(raw: IncomingMessage): void {
  const { socket } = raw;
  const close = () => Socket.prototype.destroySoon.call(socket);
  socket.destroySoon = () => {
    if (raw.complete) return close();
    socket.end();
    destroyLater(socket);
    raw.once('end', close);
    // Add a separate listener: the stream stops flowing when its last reader is removed.
    raw.on('data', () => undefined).resume();
  };
}

/** Destroys a connection after 5 s: a client that keeps sending would otherwise keep it open. */
export function destroyLater(socket: Socket): void {
  const late = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(late));
}
