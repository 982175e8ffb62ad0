import { mkdtempSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  request,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificate } from '../network/tls-proxy';

/** What a site does besides its own pages. */
export interface SiteOptions {
  /** serves HTTPS with a self-signed certificate */
  tls?: boolean;
  /** paths of a service on the same host, which the site forwards */
  service?: { port: number; host: string; path: string };
}

/** A web site with blank pages on a local port. Can also forward paths to a service, as a proxy. */
export class WebSite {
  /** `Cookie` headers of the requests for own pages */
  readonly received: string[] = [];
  private readonly server: Server;

  private constructor({ tls = false, service }: SiteOptions) {
    const listener: RequestListener = (incoming, response) => {
      const { url = '/', headers } = incoming;
      const isOfService = service !== undefined && headers.host?.startsWith(service.host) === true;
      if (isOfService && url.startsWith(service.path)) return forward(incoming, response, service.port);
      this.received.push(headers.cookie ?? '');
      const cookie = new URL(url, 'http://site').searchParams.get('set-cookie');
      if (cookie !== null) response.setHeader('set-cookie', cookie);
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>Another application</title>');
    };
    this.server = tls ? createTls(listener) : createServer(listener);
  }

  /** Starts a site on a port. */
  static async start(port: number, options: SiteOptions = {}): Promise<WebSite> {
    const site = new WebSite(options);
    await new Promise<void>((resolve) => site.server.listen(port, '127.0.0.1', resolve));
    return site;
  }

  /** Stops the site and closes its connections. */
  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

function createTls(listener: RequestListener): Server {
  const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-site-'));
  const { key, cert } = createCertificate(directory);
  rmSync(directory, { recursive: true });
  return createTlsServer({ key, cert }, listener);
}

function forward(incoming: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = incoming;
  const outgoing = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  incoming.pipe(outgoing);
}
