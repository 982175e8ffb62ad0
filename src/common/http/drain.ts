import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const sweepMs = 100;

/**
 * Drains connections when the server closes.
 * Running requests are completed and their connections closed. Connections that never sent a byte,
 * such as spare connections of a load balancer, are closed at once. After `drainMs`, all remaining
 * connections are closed. Node closes idle keep-alive connections itself.
 */
export function addDrain(fastify: FastifyInstance, drainMs: number): void {
  const { server } = fastify;
  const sockets = new Set<Socket>();
  let closing = false;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    // Otherwise the server would wait for the next request on this connection.
    if (closing) void reply.header('connection', 'close');
    done();
  });
  fastify.addHook('preClose', (done) => {
    closing = true;
    const sweep = setInterval(
      () => [...sockets].filter(({ bytesRead }) => bytesRead === 0).forEach((socket) => socket.destroy()),
      sweepMs,
    );
    const cut = setTimeout(() => server.closeAllConnections(), drainMs);
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(cut);
    });
    done();
  });
}
