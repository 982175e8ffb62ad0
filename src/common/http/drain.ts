import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const sweepMs = 100;

/**
 * Lets a closing server come to its end: requests under way are answered and their connections
 * closed after the answer, connections that have never sent anything (a load balancer's reserve) do
 * not count, and after `patienceMs` whatever is left is cut. Idle keep-alive connections Node
 * closes by itself.
 */
export function addDrain(fastify: FastifyInstance, patienceMs: number): void {
  const { server } = fastify;
  const sockets = new Set<Socket>();
  let closing = false;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    // else the client would keep the connection, and the server wait for its next request
    if (closing) void reply.header('connection', 'close');
    done();
  });
  fastify.addHook('preClose', (done) => {
    closing = true;
    const sweep = setInterval(
      () => [...sockets].filter(({ bytesRead }) => bytesRead === 0).forEach((socket) => socket.destroy()),
      sweepMs,
    );
    const cut = setTimeout(() => server.closeAllConnections(), patienceMs);
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(cut);
    });
    done();
  });
}
