import { connect } from 'node:net';

/** Only stops a wait that never ends: a busy machine takes seconds for a response. */
const patienceMs = 60_000;

/**
 * Sends bytes over a new socket. Returns the received data when the response is complete or the
 * connection closes.
 */
export function rawRequest(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    );
    let answer = '';
    const done = () => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(patienceMs, () => {
      socket.destroy();
      reject(new Error(`no end after ${patienceMs} ms; so far: ${answer.slice(0, 200)}`));
    });
    socket.on('error', () => undefined).on('close', done);
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      const [head, body] = answer.split('\r\n\r\n', 2);
      const length = /^content-length: (\d+)/im.exec(head ?? '')?.[1];
      if (body !== undefined && length !== undefined && body.length >= Number(length)) done();
    });
  });
}

/** Returns the status of a raw response, or 0 without one. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}
