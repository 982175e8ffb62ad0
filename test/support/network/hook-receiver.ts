import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a receiver got. */
export interface ReceivedHook {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** the parsed body */
  json: { type: string; timestamp: string; data: Record<string, unknown> };
}

/** Receives the requests of webhooks, on loopback. */
export class HookReceiver {
  readonly received: ReceivedHook[] = [];
  /** responses that were not sent */
  readonly held: ServerResponse[] = [];
  /** status code of the next response to a path; null = none */
  answer: (path: string) => number | null = () => 204;
  private readonly server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const path = request.url ?? '';
      this.received.push({ path, headers: request.headers, body, json: JSON.parse(body) as ReceivedHook['json'] });
      const status = this.answer(path);
      if (status === null) this.held.push(response);
      else response.writeHead(status, { location: '/elsewhere' }).end(`answer ${status}`);
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  /** Returns the URL of a path. */
  url(path: string): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`;
  }

  /** Returns the requests to a path. */
  of(path: string): ReceivedHook[] {
    return this.received.filter((hook) => hook.path === path);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
