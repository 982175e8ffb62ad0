import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ExecutionContext } from '@nestjs/common';
import { defer, lastValueFrom } from 'rxjs';
import { AppError } from '../../src/common/errors/app-error';
import type { ErrorCode } from '../../src/common/errors/error-codes';
import { UploadedFile } from '../../src/common/http/upload';
import { IdempotencyInterceptor } from '../../src/idempotency/idempotency.interceptor';
import { IdempotencyService } from '../../src/idempotency/idempotency.service';
import { until } from '../support/until';
import { TestService } from '../support/service';

interface Sent {
  key: string;
  body?: unknown;
  method?: string;
  url?: string;
  query?: object;
}
type Handler = (body: Readable, reply: Reply) => unknown;
class Reply {
  statusCode = 201;
  status(code: number): void {
    this.statusCode = code;
  }
}

/** Tests the interceptor around handlers that no route has. */
describe('the idempotency interceptor', () => {
  let service: TestService;
  let idempotency: IdempotencyService;
  const user_id = randomUUID();
  beforeAll(async () => {
    service = await TestService.start();
    idempotency = service.app.get(IdempotencyService, { strict: false });
  });
  afterAll(() => service.close());
  beforeEach(() => service.rows('delete from idempotency_keys'));

  /** Returns the response or error code, and the number of calls of the handler. */
  async function send({ key, body, method = 'POST', url = '/x?a=1', query = { a: '1' } }: Sent, handler: Handler) {
    let calls = 0;
    const reply = new Reply();
    const upload = body instanceof Readable ? new UploadedFile('csv', body, Infinity) : undefined;
    const request = {
      headers: { 'idempotency-key': key },
      actor: { actor_type: 'user', user_id, user_type: 'system', carrier_id: null, carrier_scope: null },
      method,
      originalUrl: url,
      query,
      body,
      upload,
    };
    const http = { getRequest: () => request, getResponse: () => reply };
    const handle = async (): Promise<unknown> => {
      calls++;
      return handler(request.body as Readable, reply);
    };
    const answers = new IdempotencyInterceptor(idempotency).intercept(
      { switchToHttp: () => http } as unknown as ExecutionContext,
      {
        handle: () => defer(handle),
      },
    );
    const answer = await lastValueFrom(answers).catch((error: unknown) =>
      error instanceof AppError ? error.code : `fault: ${String(error)}`,
    );
    return { answer, calls, status: reply.statusCode };
  }
  const refuse = (code: ErrorCode) => (): never => {
    throw new AppError(code);
  };
  const keys = () => service.rows('select * from idempotency_keys');
  /** Returns a stream of a text in chunks of a size. */
  const stream = (text: string, size: number) =>
    Readable.from(
      text.match(new RegExp(`[^]{1,${size}}`, 'g'))!.map((chunk) => Buffer.from(chunk)),
      { objectMode: false },
    );

  it('identifies a request by method, path and key, and compares the query', async () => {
    let count = 0;
    const handler = () => ({ count: ++count });
    const sent = { key: 'k', body: { a: 1 } };
    expect(await send(sent, handler)).toEqual({ answer: { count: 1 }, calls: 1, status: 201 });
    expect(await send({ ...sent, method: 'PATCH' }, handler)).toMatchObject({ answer: { count: 2 } });
    expect(await send({ ...sent, url: '/y?a=1' }, handler)).toMatchObject({ answer: { count: 3 } });
    expect(await send({ ...sent, key: 'l' }, handler)).toMatchObject({ answer: { count: 4 } });
    expect(await send({ ...sent, query: { a: '2' } }, handler)).toMatchObject({
      answer: 'idempotency.key_reused',
      calls: 0,
    });
    expect(await send({ ...sent, query: { a: '1', b: '1' } }, handler)).toMatchObject({
      answer: 'idempotency.key_reused',
      calls: 0,
    });
    expect(await send(sent, handler)).toEqual({ answer: { count: 1 }, calls: 0, status: 201 });
  });

  it('replays the status that the handler chose, and an empty response', async () => {
    const accepted = (_body: unknown, reply: Reply) => reply.status(202);
    expect(await send({ key: 'k' }, accepted)).toEqual({ answer: undefined, calls: 1, status: 202 });
    expect(await send({ key: 'k' }, accepted)).toEqual({ answer: undefined, calls: 0, status: 202 });
  });

  it.each<[ErrorCode, number]>([
    ['request.rate_limited', 2],
    ['auth.too_many_attempts', 2],
    ['service.overloaded', 2],
    ['service.database_unavailable', 2],
    ['service.internal_error', 2],
    ['access.denied', 1],
    ['request.not_found', 1],
    ['user.version_mismatch', 1],
  ])('%s: runs a request that is sent twice %i times', async (code, times) => {
    const answers = [await send({ key: 'k' }, refuse(code)), await send({ key: 'k' }, refuse(code))];
    expect(answers.map(({ answer }) => answer)).toEqual([code, code]);
    expect(answers.reduce((sum, { calls }) => sum + calls, 0)).toBe(times);
    expect(await keys()).toHaveLength(times === 1 ? 1 : 0);
  });

  it('renews the claim of a slow request', async () => {
    const handler = async () => {
      await service.rows(`update idempotency_keys set claimed_until = now() + interval '1 second'`);
      await until(
        async () =>
          (await service.rows(`select 1 from idempotency_keys where claimed_until > now() + interval '5 seconds'`))
            .length > 0,
      );
      return 'done';
    };
    expect((await send({ key: 'k' }, handler)).answer).toBe('done');
  });

  it('keeps the response that the transaction stored, even if it is lost afterwards', async () => {
    const handler = async () => {
      await idempotency.keep(200, { kept: true });
      throw new Error('lost on the way');
    };
    expect((await send({ key: 'k' }, handler)).answer).toBe('fault: Error: lost on the way');
    expect(await send({ key: 'k' }, handler)).toEqual({ answer: { kept: true }, calls: 0, status: 200 });
  });

  describe('with a streamed body', () => {
    const text = Array.from({ length: 5_000 }, (_, n) => `line ${n} with some text\n`).join('');
    const readSome = (body: Readable) => body.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]().next();
    const readers: [string, Handler][] = [
      [
        'that is iterated',
        async (body) => (await body.toArray()).reduce((sum: number, chunk: Buffer) => sum + chunk.length, 0),
      ],
      [
        'that is piped',
        async (body) => {
          let length = 0;
          await pipeline(body, createGzip(), async (zipped) => {
            for await (const chunk of zipped) length += (chunk as Buffer).length;
          });
          return length > 0 ? text.length : 0;
        },
      ],
      [
        'that is read in part',
        async (body) => {
          await readSome(body);
          return text.length;
        },
      ],
      ['without a reader', () => text.length],
    ];

    it.each(readers)('replays the response to the same bytes and rejects others: %s', async (_title, handler) => {
      expect(await send({ key: 'k', body: stream(text, 16_384) }, handler)).toEqual({
        answer: text.length,
        calls: 1,
        status: 201,
      });
      expect(await send({ key: 'k', body: stream(text, 1_000) }, handler)).toEqual({
        answer: text.length,
        calls: 0,
        status: 201,
      });
      for (const other of [`${text}\n`, text.slice(0, -1), text.replace('4999', '4998')])
        expect(await send({ key: 'k', body: stream(other, 16_384) }, handler)).toMatchObject({
          answer: 'idempotency.key_reused',
          calls: 0,
        });
    });

    it('rejects the same key while the body is read, without reading the second body', async () => {
      const second = stream(text, 1_000);
      const handler: Handler = async (body) => {
        await readSome(body);
        const waiting = await send({ key: 'k', body: second }, () => 'twice');
        return waiting.answer;
      };
      expect((await send({ key: 'k', body: stream(text, 1_000) }, handler)).answer).toBe('idempotency.in_progress');
      expect(second.readableDidRead).toBe(false);
    });

    it('stores a rejection that came after a part of the body for the whole body', async () => {
      const handler: Handler = async (body) => {
        await readSome(body);
        throw new AppError('request.invalid');
      };
      expect(await send({ key: 'k', body: stream(text, 1_000) }, handler)).toMatchObject({
        answer: 'request.invalid',
        calls: 1,
      });
      expect(await send({ key: 'k', body: stream(text, 5_000) }, handler)).toMatchObject({
        answer: 'request.invalid',
        calls: 0,
      });
      const mended = send({ key: 'k', body: stream(text.replace('4999', '4998'), 1_000) }, handler);
      expect(await mended).toMatchObject({ answer: 'idempotency.key_reused', calls: 0 });
    });

    it('stores nothing for a body that breaks off, and accepts the same key with the whole body', async () => {
      const [, [, handler]] = readers as [[string, Handler], [string, Handler]];
      const broken = Readable.from(
        (async function* () {
          yield Buffer.from(text.slice(0, 1_000));
          throw new Error('ECONNRESET');
        })(),
        { objectMode: false },
      );
      expect((await send({ key: 'k', body: broken }, handler)).answer).toBe('fault: Error: ECONNRESET');
      expect(await keys()).toEqual([]);
      expect(await send({ key: 'k', body: stream(text, 1_000) }, handler)).toMatchObject({
        answer: text.length,
        calls: 1,
      });
    });

    it('keeps a change, but no rejection, when the body breaks off or is destroyed', async () => {
      const destroy = (body: Readable) => void body.on('error', () => undefined).destroy();
      const refused = (body: Readable) => {
        destroy(body);
        throw new AppError('request.invalid');
      };
      expect((await send({ key: 'k', body: stream(text, 1_000) }, refused)).answer).toBe('request.invalid');
      expect(await send({ key: 'k', body: stream(text, 1_000) }, destroy)).toMatchObject({ calls: 1, status: 201 });
      expect(await send({ key: 'k', body: stream(text, 1_000) }, destroy)).toMatchObject({
        answer: undefined,
        calls: 0,
        status: 201,
      });
    });

    it('reads no body ahead of its consumer, and buffers none in memory', async () => {
      const chunk = Buffer.alloc(65_536, 'x');
      let made = 0;
      const large = () =>
        new Readable({
          highWaterMark: 65_536,
          read() {
            this.push(made++ < 1_024 ? chunk : null);
          },
        });
      let ahead = 0;
      const handler: Handler = async (body) => {
        let read = 0;
        for await (const part of body) {
          read += (part as Buffer).length;
          ahead = Math.max(ahead, made * chunk.length - read);
          await new Promise(setImmediate);
        }
        return read;
      };
      expect((await send({ key: 'k', body: large() }, handler)).answer).toBe(1_024 * chunk.length);
      expect(ahead).toBeLessThanOrEqual(4 * chunk.length);
      made = 0;
      expect(await send({ key: 'k', body: large() }, handler)).toMatchObject({
        answer: 1_024 * chunk.length,
        calls: 0,
      });
    });
  });
});
