import type { Readable } from 'node:stream';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../errors/app-error';

declare module 'fastify' {
  interface FastifyRequest {
    /** a body that is read as it comes in, on the routes that take one */
    upload?: UploadedFile;
  }
}

/**
 * Largest file of an upload, 4 GiB: holds 5,000,000 rows of 850 bytes, as an NDJSON export with
 * hashes writes them.
 */
export const uploadMaxBytes = 4 * 1_024 ** 3;

/** A file that is still coming in. */
export class UploadedFile {
  /**
   * whether a handler has begun to read the file; from then on no deadline applies to the body, but
   * a minimum rate
   */
  opened = false;
  private received = 0;

  constructor(
    readonly format: 'csv' | 'ndjson',
    private readonly bytes: Readable,
    private readonly maxBytes: number,
  ) {}

  /**
   * Reads what no reader has read yet. Only for code that runs after the guards. A reader that
   * stops early leaves the connection open for the response.
   * @throws request.too_large
   */
  async *read(): AsyncGenerator<Buffer> {
    this.opened = true;
    this.assertSize();
    for await (const chunk of this.bytes.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.received += chunk.length;
      this.assertSize();
      yield chunk;
    }
  }

  /**
   * Passes every chunk that a reader takes to `onChunk`, and calls `onEnd` after the last one.
   * Reads nothing itself.
   */
  watch(onChunk: (chunk: Buffer) => void, onEnd: () => void): void {
    // a `data` listener starts the flow, so pause it until a reader comes
    this.bytes.on('data', onChunk).pause();
    this.bytes.once('end', onEnd);
  }

  private assertSize(): void {
    if (this.received > this.maxBytes) throw tooLarge(this.maxBytes);
  }
}

const formats: Record<string, UploadedFile['format']> = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' };
const charset = /;[ \t]*charset="?([^";\s]*)"?/i;

/** The paths below the base that take files; all others refuse them as an unsupported media type. */
const uploadPaths = ['/user/import'];

/**
 * Whether a route takes files. Says nothing about the request: it may come without access, or with
 * another type of body.
 */
export function takesUpload({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'POST' && uploadPaths.some((path) => routeOptions.url?.endsWith(path));
}

/**
 * Hands files of at most `maxBytes` over unread: the guards come first, then the handler reads as
 * fast as it can.
 */
export function registerUploads(fastify: FastifyInstance, maxBytes: number): void {
  fastify.addContentTypeParser(Object.keys(formats), (request, bytes, done) => {
    const type = request.headers['content-type'] ?? '';
    const format = formats[(type.split(';')[0] ?? '').trim().toLowerCase()];
    if (format === undefined || !takesUpload(request) || (charset.exec(type)?.[1] ?? 'utf-8').toLowerCase() !== 'utf-8')
      request.bodyFault = takesUpload(request) ? noFile() : new AppError('request.unsupported_media_type');
    else if (Number(request.headers['content-length']) > maxBytes) request.bodyFault = tooLarge(maxBytes);
    else request.upload = new UploadedFile(format, bytes, maxBytes);
    done(null, undefined);
  });
}

/** The file of a request, as a handler's parameter. @throws request.unsupported_media_type */
export const Upload = createParamDecorator((_data: unknown, context: ExecutionContext): UploadedFile => {
  const { upload } = context.switchToHttp().getRequest<FastifyRequest>();
  if (upload === undefined) throw noFile();
  return upload;
});

/** What is answered to whoever sends something else where a file is taken. */
export function noFile(): AppError {
  return new AppError('request.unsupported_media_type', { detail: 'Send `Content-Type: text/csv` or `application/x-ndjson`, in UTF-8.' });
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('request.too_large', { detail: `A file may have at most ${maxBytes} bytes. Split it.` });
}
