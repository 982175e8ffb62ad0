import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/built-program';
import { RawConnection, requestHead } from '../support/raw-connection';
import { adminEmail, appSecret, password } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

interface Line {
  msg: string;
  reqId?: string;
  lines?: number;
}

/** Requests whose lines fit into a pipe. */
const some = 50;
/** Requests whose lines exceed the pipe, but not the buffer of the logger. */
const many = 1_500;
/** Requests whose lines exceed the buffer of the logger, too. */
const tooMany = 15_000;
const batch = 1_000;
/** The longest allowed request id and a trace id, so that few requests fill the log. */
const idOf = (index: number) => `asked-${index}-`.padEnd(64, 'x');
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const numberOf = (id: string) => Number(id.split('-')[1]);
const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-log-'));
const path = join(directory, 'log');
let database: TestDatabase;
let service: ServiceProcess;
let asked: number;

beforeAll(async () => {
  database = await createTestDatabase();
  execFileSync('mkfifo', [path]);
});
afterAll(async () => {
  await database.drop();
  rmSync(directory, { recursive: true, force: true });
});

/** Starts the service with stdout and stderr on this file. */
async function start(file: string): Promise<void> {
  const output = openSync(file, constants.O_WRONLY);
  const admin = { ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password };
  const settings = { DATABASE_URL: database.url, APP_SECRET: appSecret, PORT: String(await freePort()), ...admin };
  service = new ServiceProcess(settings, output);
  closeSync(output);
  await service.ready();
  asked = 0;
}

/** Sends requests with distinct ids, and waits for the responses. */
async function ask(count: number): Promise<void> {
  for (const end = asked + count; asked < end;) {
    const connection = await RawConnection.open(Number(new URL(service.url).port));
    const ids = Array.from({ length: Math.min(batch, end - asked) }, () => idOf(asked++));
    await connection.send(
      ids.map((id) => requestHead('GET', '/health/live', { 'x-request-id': id, traceparent })).join(''),
    );
    await service.until(() => connection.answers === ids.length);
    connection.socket.destroy();
  }
}

/** A named pipe that is read only on demand. */
class Pipe {
  private readonly descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  private rest = '';
  /** lines read so far */
  readonly lines: Line[] = [];

  /** Reads the available lines. Throws when a line is incomplete. */
  read(): void {
    const chunk = Buffer.alloc(1_048_576);
    try {
      for (let length; (length = readSync(this.descriptor, chunk)) > 0;) this.rest += chunk.toString('utf8', 0, length);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    const lines = this.rest.split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.lines.push(JSON.parse(line) as Line);
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

let pipe: Pipe;
const ids = () => pipe.lines.flatMap(({ reqId }) => (reqId?.startsWith('asked-') === true ? [reqId] : []));
const drops = () => pipe.lines.filter(({ msg }) => msg === 'log lines dropped');

/** Starts the service with a log pipe, which the tests of a group share in order. */
function withUnreadPipe(): void {
  beforeAll(async () => {
    pipe = new Pipe();
    await start(path);
  });
  afterAll(async () => {
    await service.kill();
    pipe.close();
  });
}

async function readWhileItEnds(): Promise<void> {
  let ended = false;
  const end = service.stop().finally(() => (ended = true));
  while (!ended) {
    pipe.read();
    await new Promise(setImmediate);
  }
  pipe.read();
  expect(await end).toBe(0);
}

it('keeps responding on a full disk and stops on request (F22)', async () => {
  await start('/dev/full');
  try {
    await ask(tooMany);
    expect((await service.send('POST', '/auth/login', { body: { login: adminEmail, password } })).status).toBe(200);
    expect(await service.stop()).toBe(0);
  } finally {
    await service.kill();
  }
});

describe('a log pipe that is not read for a long time', () => {
  withUnreadPipe();

  it('keeps responding, and logs the number of dropped lines once it is read again (F22)', async () => {
    await ask(tooMany);
    const headers = { 'x-request-id': idOf(asked++) };
    const login = { login: adminEmail, password };
    expect((await service.send('POST', '/auth/login', { body: login, headers })).status).toBe(200);
    await service.until(() => (pipe.read(), drops().length > 0));
    const written = ids().map(numberOf);
    // A short line can still fit where a longer one was dropped, so that the lines may have gaps.
    expect(written).toEqual(Array.from(new Set(written)).sort((one, other) => one - other));
    expect(written.length).toBeLessThan(tooMany);
    expect(written.length + (drops()[0]?.lines ?? 0)).toBe(asked);
    await ask(some);
    await service.until(() => (pipe.read(), ids().at(-1) === idOf(asked - 1)));
    expect([ids().length, drops().length]).toEqual([written.length + some, 1]);
  });

  it('logs the number of dropped lines even if it is read again only at the end (F22)', async () => {
    pipe.lines.length = 0;
    await ask(tooMany);
    await readWhileItEnds();
    // The line about the stop is kept or dropped like any other.
    const kept = ids().length + pipe.lines.filter(({ msg }) => msg === 'carrier-identity stops: SIGTERM').length;
    expect([drops().length, kept + (drops()[0]?.lines ?? 0)]).toEqual([1, tooMany + 1]);
  });
});

describe('a log pipe whose reader changes', () => {
  withUnreadPipe();

  it('loses no line that a second reader fetches after the first one left (F22)', async () => {
    await ask(some);
    pipe.read();
    pipe.close();
    await ask(many);
    const first = ids();
    pipe = new Pipe();
    await service.until(() => (pipe.read(), ids().at(-1) === idOf(some + many - 1)));
    expect(first.length + ids().length).toBeGreaterThanOrEqual(many);
    expect(drops()).toEqual([]);
  });

  it('loses no line that a slow reader fetches during the stop (F22)', async () => {
    pipe.lines.length = 0;
    await ask(many);
    await readWhileItEnds();
    expect([ids().length, drops()]).toEqual([many, []]);
  });
});

describe('a log pipe that is never read', () => {
  withUnreadPipe();

  it('stops on request (F22)', async () => {
    await ask(many);
    expect(await service.stop()).toBe(0);
  });
});
