import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/process/built-program';
import { Cluster } from '../support/process/cluster';
import { RawConnection, requestHead } from '../support/network/raw-connection';
import { adminEmail, password } from '../support/service';
import type { ServiceProcess } from '../support/process/service-process';

/** Requests whose lines exceed the pipe, but not the buffer of the logger. */
const many = 1_500;
/** Requests whose lines exceed the buffer of the logger, too. */
const tooMany = 15_000;
const batch = 1_000;
/** The longest allowed request id and a trace id, so that few requests fill the log. */
const idOf = (index: number) => `asked-${index}-`.padEnd(64, 'x');
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-log-'));
const path = join(directory, 'log');

/** A named pipe that is read only on demand. */
class Pipe {
  /** lines read so far */
  lines: { msg: string; reqId?: string; lines?: number }[] = [];
  private readonly descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  private rest = '';

  /** Reads the available lines. Throws on a line that is not JSON. */
  read(): void {
    const chunk = Buffer.alloc(1_048_576);
    try {
      for (let length; (length = readSync(this.descriptor, chunk)) > 0;) this.rest += chunk.toString('utf8', 0, length);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    const lines = this.rest.split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.lines.push(JSON.parse(line) as Pipe['lines'][number]);
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

describe('the log', () => {
  let cluster: Cluster;
  let service: ServiceProcess;
  let pipe: Pipe;
  let asked: number;
  beforeAll(async () => {
    cluster = await Cluster.create();
    execFileSync('mkfifo', [path]);
  });
  afterAll(async () => {
    await cluster.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Opens the pipe, and starts the service with stdout and stderr on a file. */
  async function start(file: string): Promise<void> {
    pipe = new Pipe();
    const output = openSync(file, constants.O_WRONLY);
    service = cluster.spawn({ PORT: String(await freePort()) }, output);
    closeSync(output);
    await service.ready();
    asked = 0;
  }

  /** Sends requests with distinct ids, and waits for the responses. */
  async function ask(count: number): Promise<void> {
    for (const end = asked + count; asked < end;) {
      const connection = await RawConnection.open(service.port);
      const heads = Array.from({ length: Math.min(batch, end - asked) }, () =>
        requestHead('GET', '/health/live', { 'x-request-id': idOf(asked++), traceparent }),
      );
      await connection.send(heads.join(''));
      await service.until(() => connection.answers === heads.length);
      connection.socket.destroy();
    }
  }

  async function expectLogin(): Promise<void> {
    const headers = { 'x-request-id': idOf(asked++) };
    const body = { login: adminEmail, password };
    expect((await service.post('/auth/login', { body, headers })).status).toBe(200);
  }

  /** Returns the numbers of the requests whose lines were read. */
  const written = () =>
    pipe.lines.flatMap(({ reqId = '' }) => (reqId.startsWith('asked-') ? [Number(reqId.split('-')[1])] : []));
  const drops = () => pipe.lines.filter(({ msg }) => msg === 'log lines dropped').map(({ lines = NaN }) => lines);

  /** The tests use one service in order. */
  describe('on a pipe that is not read for a long time', () => {
    beforeAll(() => start(path));
    beforeEach(() => (pipe.lines = []));
    afterAll(() => pipe.close());

    it('loses no line if a second reader continues after the first reader left (F22)', async () => {
      await ask(1);
      await service.until(() => (pipe.read(), written().length === 1));
      pipe.close();
      await ask(many);
      pipe = new Pipe();
      await service.until(() => (pipe.read(), written().length === many));
      expect([written().at(-1), drops()]).toEqual([asked - 1, []]);
    });

    it('drops lines while the service responds, and logs their number once the pipe is read (F22)', async () => {
      const first = asked;
      await ask(tooMany);
      await expectLogin();
      await service.until(() => (pipe.read(), drops().length > 0));
      // A short line can still fit where a longer one was dropped, so that the lines may have gaps.
      const numbers = written();
      expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
      expect([numbers[0], numbers.length + drops()[0]!]).toEqual([first, asked - first]);
      await ask(1);
      await service.until(() => (pipe.read(), written().at(-1) === asked - 1));
      expect([written().length, drops().length]).toEqual([numbers.length + 1, 1]);
    });

    it('logs the number even if the pipe is read only during the stop, and loses no other line (F22)', async () => {
      await ask(tooMany);
      let ended = false;
      const end = service.stop().finally(() => (ended = true));
      while (!ended) {
        pipe.read();
        await new Promise(setImmediate);
      }
      pipe.read();
      expect(await end).toBe(0);
      // The line about the stop is kept or dropped like any other.
      const stops = pipe.lines.filter(({ msg }) => msg === 'carrier-identity stops: SIGTERM').length;
      expect([drops().length, written().length + stops + drops()[0]!]).toEqual([1, tooMany + 1]);
    });
  });

  it.each([
    ['a pipe that is never read', path, many],
    ['a full disk', '/dev/full', tooMany],
  ])('lets the service respond and stop if it goes to %s (F22)', async (_title, file, count) => {
    await start(file);
    await ask(count);
    await expectLogin();
    expect(await service.stop()).toBe(0);
    pipe.close();
  });
});
