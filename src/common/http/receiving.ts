import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { monotonicMs } from '../clock';

/** Time to keep the socket open after an early error response, so that the client can read it. */
const lingerMs = 5_000;
const sweepMs = 500;

/** Limits of the time in which a body must arrive. */
export interface ReceivingLimits {
  /** milliseconds until a body must be complete */
  bodyMs: number;
  /** minimum rate of an accepted upload, on average, after `bodyMs` and `uploadGraceMs` */
  uploadBytesPerSecond: number;
  /** milliseconds after `bodyMs` in which an accepted upload needs no minimum rate */
  uploadGraceMs: number;
}

/** A request whose body is expected, and its deadline on the monotonic clock. */
interface Expected {
  request: FastifyRequest;
  until: number;
}

/** An accepted upload whose rate is measured. */
interface MeasuredUpload {
  raw: IncomingMessage;
  since: number;
  /** bytes that the connection had received at `since` */
  bytes: number;
}

/**
 * Ends requests whose body is not complete in time (slowloris).
 * Node's own limit is off, because it is the same for every request.
 * The deadline is lifted only for an upload that its handler has opened: the body of a request
 * without access must not hold a connection (H21). An opened upload must reach a minimum rate
 * instead.
 */
export function limitReceiving(
  fastify: FastifyInstance,
  limits: ReceivingLimits,
  reject: (error: Error, socket: Socket) => void,
): void {
  // Keyed by connection, which delivers the next request only after the body of the current one.
  // Ordered by deadline, so that one timer serves all.
  const expected = new Map<Socket, Expected>();
  const uploads = new Map<Socket, MeasuredUpload>();
  const watched = new WeakSet<Socket>();
  const expect = (request: FastifyRequest): void => {
    const { socket } = request.raw;
    expected.delete(socket); // keeps the order
    expected.set(socket, { request, until: monotonicMs() + limits.bodyMs });
    // One listener per connection: adding one for each request would cost more than a short
    // request.
    if (watched.has(socket)) return;
    watched.add(socket);
    socket.once('close', () => {
      expected.delete(socket);
      uploads.delete(socket);
    });
  };
  fastify.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request;
    // The server sent `connection: close`. Further bytes are not a request (RFC 9112 §9.6).
    if (raw.socket.writableEnded) {
      raw.socket.destroy();
      return;
    }
    if (hasBody(raw.headers)) expect(request);
    done();
  });
  fastify.addHook('onResponse', ({ raw }, _reply, done) => {
    if (expected.get(raw.socket)?.request.raw === raw) expected.delete(raw.socket);
    if (uploads.get(raw.socket)?.raw === raw) uploads.delete(raw.socket);
    done();
  });
  const sweep = setInterval(() => rejectLate(expected, uploads, limits, reject), sweepMs).unref();
  fastify.addHook('onClose', (_instance, done) => {
    clearInterval(sweep);
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

/** Rejects requests after their deadline, and uploads below the minimum rate. */
function rejectLate(
  expected: Map<Socket, Expected>,
  uploads: Map<Socket, MeasuredUpload>,
  limits: ReceivingLimits,
  reject: (error: Error, socket: Socket) => void,
): void {
  const now = monotonicMs();
  for (const [socket, { request, until }] of expected) {
    if (until > now) break;
    expected.delete(socket);
    const { raw, upload } = request;
    if (upload?.opened === true) uploads.set(socket, { raw, since: now, bytes: socket.bytesRead });
    else if (!raw.complete) reject(new Error('the body is late'), socket);
  }
  for (const [socket, upload] of uploads) {
    const { complete } = upload.raw;
    if (!complete && socket.bytesRead >= requiredBytes(upload, now, limits)) continue;
    uploads.delete(socket);
    if (!complete) reject(new Error('the upload is too slow'), socket);
  }
}

/** Returns the bytes that the connection of an upload must have received by now. */
function requiredBytes(
  { since, bytes }: MeasuredUpload,
  now: number,
  { uploadGraceMs, uploadBytesPerSecond }: ReceivingLimits,
): number {
  return bytes + ((now - since - uploadGraceMs) / 1_000) * uploadBytesPerSecond;
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
