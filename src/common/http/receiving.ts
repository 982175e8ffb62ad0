import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { monotonicMs } from '../clock';
import { takesUpload } from './upload';

/** So long whoever is refused while they send gets to read the answer. */
const lingerMs = 5_000;
const sweepMs = 500;

/**
 * Ends requests whose body does not come to its end in time (slowloris), but for files: those may take long, and only a connection that is
 * silent for `connectionTimeout` is cut. Node's own limit is the same for every request, so it is off.
 */
export function limitReceiving(fastify: FastifyInstance, limitMs: number, refuse: (error: Error, socket: Socket) => void): void {
  /** requests with a body, and until when it may come in; the oldest first. A timer for each would cost more than the rest of a short request */
  const receiving = new Map<IncomingMessage, number>();
  fastify.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request;
    // `connection: close` was said: what still comes is no request, whatever it looks like (RFC 9112 §9.6)
    if (raw.socket.writableEnded) {
      raw.socket.destroy();
      return;
    }
    if (hasBody(raw.headers) && !takesUpload(request)) receiving.set(raw, monotonicMs() + limitMs);
    done();
  });
  const forget = (request: FastifyRequest, done: () => void): void => {
    receiving.delete(request.raw);
    done();
  };
  // answered, or given up by the client
  fastify.addHook('onResponse', (request, _reply, done) => forget(request, done));
  fastify.addHook('onRequestAbort', forget);
  const sweep = setInterval(() => {
    const now = monotonicMs();
    for (const [raw, until] of receiving) {
      if (until > now) return;
      receiving.delete(raw);
      if (!raw.complete) refuse(new Error('the body is late'), raw.socket);
    }
  }, sweepMs).unref();
  fastify.addHook('onClose', (_instance, done) => {
    clearInterval(sweep);
    done();
  });
  fastify.addHook('onSend', ({ raw }, reply, _payload, done) => {
    // what is refused before it is read would have to be read to the end for the next request of the connection
    if (raw.complete === false && hasBody(raw.headers)) {
      void reply.header('connection', 'close');
      closeInStages(raw);
    }
    done();
  });
}

function hasBody(headers: Record<string, unknown>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * A connection that is closed with bytes unread is reset, and whoever still sends may never read the answer. So once the answer is out, the rest of the body
 * is read and thrown away for a while (RFC 9112 §9.6). `destroySoon` is what Node calls after an answer with `connection: close`.
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

/** Ends a connection for good, which one side alone cannot: whoever goes on sending would keep it open. */
export function destroyLater(socket: Socket): void {
  const late = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(late));
}
