import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';

/** A PostgreSQL server that accepts connections by TLS only. */
export interface TlsProxy {
  /** URL of the database, without TLS parameters */
  url: string;
  /** file of the self-signed certificate, which is valid for `localhost` and 127.0.0.1 */
  certificate: string;
  stop(): Promise<void>;
}

/**
 * Creates a self-signed certificate in a directory, valid for `localhost` and 127.0.0.1. Needs the
 * command `openssl`.
 */
export function createCertificate(directory: string): { key: Buffer; cert: Buffer; certificate: string } {
  const [keyFile, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const form = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...form, ...names, '-keyout', keyFile, '-out', certificate], { stdio: 'ignore' });
  return { key: readFileSync(keyFile), cert: readFileSync(certificate), certificate };
}

/** Puts TLS in front of a server, as stunnel does. Needs the command `openssl`. */
export async function startTlsProxy(target: string): Promise<TlsProxy> {
  const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-tls-'));
  const { key, cert, certificate } = createCertificate(directory);
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    // The client asks for TLS (SSLRequest) before it sends anything else.
    socket.once('data', () => {
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, key, cert });
      const upstream = connect(Number(port), hostname);
      secure.on('error', () => upstream.destroy()).pipe(upstream);
      upstream.on('error', () => socket.destroy()).pipe(secure);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  [url.hostname, url.port] = ['127.0.0.1', String((server.address() as AddressInfo).port)];
  const stop = async () => {
    const closed = once(server.close(), 'close');
    for (const socket of sockets) socket.destroy();
    await closed;
    rmSync(directory, { recursive: true, force: true });
  };
  return { url: url.href, certificate, stop };
}
