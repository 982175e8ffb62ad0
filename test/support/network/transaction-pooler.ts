import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Client } from 'pg';

/** A connection to PostgreSQL. */
interface Backend {
  socket: Socket;
  /** number of messages that PostgreSQL has not completed */
  unanswered: number;
  /** the client whose transaction uses the connection, and a callback for its end */
  owner: { client: Socket; done: () => void } | null;
}

/** Parameters of a startup message that PgBouncer accepts by default. */
const accepted = new Set(['user', 'database', 'application_name', 'client_encoding']);
/** Messages that PostgreSQL completes with `ReadyForQuery`: Query, Sync and FunctionCall. */
const completed = new Set(['Q', 'S', 'F']);
/** Larger than any process id. A pooler announces an id of its own. */
const processId = 2 ** 30;

/**
 * A PostgreSQL connection pooler in transaction mode, like PgBouncer: each transaction gets the
 * connection that has been free for the longest time. Reads only the frames of messages, which is
 * enough for the extended protocol. Accepts the password in plain text.
 */
export class TransactionPooler {
  private readonly sockets = new Set<Socket>();
  private readonly free: Backend[] = [];
  private readonly waiting: ((backend: Backend) => void)[] = [];
  private readonly server = createServer({ noDelay: true }, (client) => this.welcome(client));

  private constructor(private readonly target: string) {}

  /** Opens connections to the database of a URL, and listens. */
  static async start(target: string, connections = 4): Promise<TransactionPooler> {
    const pooler = new TransactionPooler(target);
    for (let opened = 0; opened < connections; opened++) await pooler.open();
    await once(pooler.server.listen(0, '127.0.0.1'), 'listening');
    return pooler;
  }

  /** The URL of the database through the pooler. */
  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return Object.assign(new URL(this.target), { hostname: '127.0.0.1', port: String(port) }).href;
  }

  async stop(): Promise<void> {
    const closed = once(this.server.close(), 'close');
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Opens a connection with `pg`, which authenticates, and takes its socket. */
  private async open(): Promise<void> {
    const opened = new Client({ connectionString: this.target }).on('error', () => undefined);
    await opened.connect();
    const { stream: socket } = (opened as unknown as { connection: { stream: Socket } }).connection;
    this.sockets.add(socket.removeAllListeners('data'));
    const backend: Backend = { socket, unanswered: 0, owner: null };
    onMessages(socket, (type, bytes) => {
      backend.owner?.client.write(bytes);
      if (type !== 'Z') return;
      backend.unanswered--;
      if (backend.unanswered > 0 || bytes.toString('latin1', 5) !== 'I') return;
      backend.owner?.done();
      this.release(backend);
    });
    this.release(backend);
  }

  private release(backend: Backend): void {
    backend.owner = null;
    const next = this.waiting.shift();
    if (next === undefined) this.free.push(backend);
    else next(backend);
  }

  /** Responds to the startup message, and asks for the password. */
  private welcome(client: Socket): void {
    this.sockets.add(client.on('error', () => client.destroy()));
    const refuse = (code: string, text: string) =>
      client.end(message('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`)));
    client.once('data', (startup: Buffer) => {
      const names = startup
        .toString('utf8', 8)
        .split('\0')
        .filter((_, index) => index % 2 === 0);
      const unknown = names.find((name) => name !== '' && !accepted.has(name));
      if (unknown !== undefined) return refuse('08P01', `unsupported startup parameter: ${unknown}`);
      client.write(message('R', numbers(3)));
      client.once('data', (reply: Buffer) => {
        if (reply.toString('utf8', 5, reply.length - 1) !== decodeURIComponent(new URL(this.target).password))
          return refuse('28P01', 'password authentication failed');
        this.serve(client);
        const isReady = [message('R', numbers(0)), message('K', numbers(processId, 0)), message('Z', Buffer.from('I'))];
        client.write(Buffer.concat(isReady));
      });
    });
  }

  /** Forwards the messages of a client, over one connection until its transaction ends. */
  private serve(client: Socket): void {
    let assigned: Promise<Backend> | null = null;
    const take = async (): Promise<Backend> => {
      const backend = this.free.shift() ?? (await new Promise<Backend>((resolve) => this.waiting.push(resolve)));
      return Object.assign(backend, { owner: { client, done: () => (assigned = null) } });
    };
    onMessages(client, (type, bytes) => {
      if (type === 'X') return client.end();
      assigned ??= take();
      void assigned.then((backend) => {
        if (completed.has(type)) backend.unanswered++;
        backend.socket.write(bytes);
      });
    });
    // A transaction whose client has left cannot be completed.
    client.once('close', () => void assigned?.then((backend) => backend.socket.destroy()));
  }
}

/** Calls a function with each message: its type, and all its bytes (type, length, content). */
function onMessages(socket: Socket, handle: (type: string, bytes: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const bytes = rest.subarray(0, rest.readInt32BE(1) + 1);
      rest = rest.subarray(bytes.length);
      handle(bytes.toString('latin1', 0, 1), bytes);
    }
  });
}

function message(type: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), numbers(content.length + 4), content]);
}

function numbers(...values: number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => buffer.writeInt32BE(value, index * 4));
  return buffer;
}
