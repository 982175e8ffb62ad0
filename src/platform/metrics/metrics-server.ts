import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { register } from 'prom-client';
import { type Config, ConfigError } from '../config/config';

const limits = { headersTimeout: 5_000, requestTimeout: 5_000, maxHeaderSize: 16_384 };
const connectionsMax = 50;
const methods = ['GET', 'HEAD'];
const headers = {
  'content-type': register.contentType,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/**
 * Serves `/metrics` on `METRICS_PORT`, if set, without authentication, until the process exits. The
 * server is independent of the requests of the service, so it also responds while the service
 * stops. Does not keep the process running.
 * @throws ConfigError if the port is taken
 */
export async function serveMetricsPort(config: Config, render: () => Promise<string>): Promise<void> {
  const { METRICS_PORT: port, HOST: host } = config;
  if (port === undefined) return;
  const server = createServer(limits, (request, response) => void respond(request, response, render));
  server.maxConnections = connectionsMax;
  server.unref();
  server.listen({ port, host });
  await once(server, 'listening').catch((error: Error) => {
    throw new ConfigError([`METRICS_PORT: ${error.message}`]);
  });
}

async function respond(
  { method = '', url = '' }: IncomingMessage,
  response: ServerResponse,
  render: () => Promise<string>,
): Promise<void> {
  if (url.split('?')[0] !== '/metrics') return void response.writeHead(404).end();
  if (!methods.includes(method)) return void response.writeHead(405, { allow: methods.join(', ') }).end();
  try {
    const text = await render();
    response.writeHead(200, headers).end(text);
  } catch {
    response.writeHead(500).end();
  }
}
