import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { until } from '../until';

/** A received mail. */
export interface ReceivedMail {
  /** recipients of the envelope */
  to: string[];
  /** the whole message as received, without the soft line breaks of quoted-printable */
  source: string;
  /** token of its link, if any */
  token: string | null;
}

/** A real SMTP server on loopback that stores received mails. */
export class Mailbox {
  readonly mails: ReceivedMail[] = [];
  /** Rejects connections. Unlike after `stop`, no other process can get the port. */
  rejects = false;
  /** Addresses without a mailbox. The response repeats the address, as mail servers do. */
  readonly unknown = new Set<string>();
  private server: SMTPServer | null = null;
  private port = 0;

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`;
  }

  /** Starts, or restarts on the same port. */
  async start(): Promise<void> {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      onConnect: (_session, done) => done(this.rejects ? new Error('rejected by the test') : null),
      onRcptTo: ({ address }, _session, done) =>
        done(this.unknown.has(address) ? new Error(`no mailbox of <${address}> here`) : null),
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const source = Buffer.concat(chunks).toString().replace(/=\r\n/g, '').replace(/=3D/g, '=');
          const token = /\/auth\/(?:reset|email)\/([A-Za-z0-9_-]{43})/.exec(source)?.[1] ?? null;
          this.mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), source, token });
          done();
        });
      },
    });
    server.on('error', () => undefined);
    this.server = server;
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    if (server !== null) await new Promise<void>((resolve) => server.close(resolve));
  }

  /** Waits for the next matching mail to an address, and removes it. */
  async take(to: string, matching = /./, timeoutMs = 60_000): Promise<ReceivedMail> {
    const isWanted = (mail: ReceivedMail) => mail.to.includes(to) && matching.test(mail.source);
    await until(() => this.mails.some(isWanted), timeoutMs).catch(() => {
      throw new Error(
        `no mail to ${to} matching ${String(matching)}; arrived: ${this.mails.map((m) => m.to).join(' ')}`,
      );
    });
    const index = this.mails.findIndex(isWanted);
    return this.mails.splice(index, 1)[0] as ReceivedMail;
  }
}
