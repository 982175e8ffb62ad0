import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { monotonicMs } from '../clock';

/** So long whoever is refused while they send gets to read the answer. */
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

/** The start of the measurement of an upload's rate. */
interface RateStart {
  since: number;
  /** bytes that the connection had received by then */
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
  refuse: (error: Error, socket: Socket) => void,
): void {
  // Oldest first. One timer per request would cost more than a short request.
  const receiving = new Map<FastifyRequest, number>();
  const uploads = new Map<FastifyRequest, RateStart>();
  fastify.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request;
    // `connection: close` was said: what still comes is no request, whatever it looks like (RFC
    // 9112 §9.6)
    if (raw.socket.writableEnded) {
      raw.socket.destroy();
      return;
    }
    if (hasBody(raw.headers)) receiving.set(request, monotonicMs() + limits.bodyMs);
    done();
  });
  const forget = (request: FastifyRequest, done: () => void): void => {
    receiving.delete(request);
    uploads.delete(request);
    done();
  };
  // answered, or given up by the client
  fastify.addHook('onResponse', (request, _reply, done) => forget(request, done));
  fastify.addHook('onRequestAbort', forget);
  const sweep = setInterval(() => {
    const now = monotonicMs();
    for (const [request, until] of receiving) {
      if (until > now) break;
      receiving.delete(request);
      const { raw, upload } = request;
      if (upload?.opened === true) uploads.set(request, { since: now, bytes: raw.socket.bytesRead });
      else if (!raw.complete) refuse(new Error('the body is late'), raw.socket);
    }
    for (const [request, start] of uploads) {
      const { raw } = request;
      if (!raw.complete && raw.socket.bytesRead >= requiredBytes(start, now, limits)) continue;
      uploads.delete(request);
      if (!raw.complete) refuse(new Error('the upload is too slow'), raw.socket);
    }
  }, sweepMs).unref();
  fastify.addHook('onClose', (_instance, done) => {
    clearInterval(sweep);
    done();
  });
  fastify.addHook('onSend', ({ raw }, reply, _payload, done) => {
    // what is refused before it is read would have to be read to the end for the next request of
    // the connection
    if (raw.complete === false && hasBody(raw.headers)) {
      void reply.header('connection', 'close');
      closeInStages(raw);
    }
    done();
  });
}

/** Returns the bytes that the connection of an upload must have received by now. */
function requiredBytes(
  { since, bytes }: RateStart,
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
 * A connection that is closed with bytes unread is reset, and whoever still sends may never read
 * the answer. So once the answer is out, the rest of the body is read and thrown away for a while
 * (RFC 9112 §9.6). `destroySoon` is what Node calls after an answer with `connection: close`.
 */
function closeInStages(raw: IncomingMessage): void {
  const { socket } = raw;
  const close = () => Socket.prototype.destroySoon.call(socket);
  socket.destroySoon = () => {
    if (raw.complete) return close();
    socket.end();
    destroyLater(socket);
    raw.once('end', close);
    // a listener of its own: a reader that is about to leave would stop the flow else
    raw.on('data', () => undefined).resume();
  };
}

/**
 * Ends a connection for good, which one side alone cannot: whoever goes on sending would keep it
 * open.
 */
export function destroyLater(socket: Socket): void {
  const late = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(late));
}
