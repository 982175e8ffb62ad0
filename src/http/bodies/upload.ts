import type { Readable } from 'node:stream';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../errors/app-error';

declare module 'fastify' {
  interface FastifyRequest {
    /** body that is streamed to the handler, on routes that accept files */
    upload?: UploadedFile;
  }
}

/** Maximum size of an upload: 4 GiB hold 5,000,000 rows of an NDJSON export with hashes. */
export const uploadMaxBytes = 4 * 1_024 ** 3;

/** File that is being received. */
export class UploadedFile {
  /** true once a handler reads the file; then a minimum rate replaces the deadline of the body */
  opened = false;
  private received = 0;

  constructor(
    readonly format: 'csv' | 'ndjson',
    private readonly bytes: Readable,
    private readonly maxBytes: number,
  ) {}

  /**
   * Yields the unread rest of the file. Call it only after the guards.
   * The connection stays open for the response if the loop ends early.
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
   * Calls `onChunk` for every chunk that `read` yields, and `onEnd` at the end. Reads nothing
   * itself.
   */
  watch(onChunk: (chunk: Buffer) => void, onEnd: () => void): void {
    // A `data` listener starts the flow: pause it until `read` is called.
    this.bytes.on('data', onChunk).pause();
    this.bytes.once('end', onEnd);
  }

  private assertSize(): void {
    if (this.received > this.maxBytes) throw tooLarge(this.maxBytes);
  }
}

const formats: Record<string, UploadedFile['format']> = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' };
const charset = /;[ \t]*charset="?([^";\s]*)"?/i;

/** Paths that accept files, without the base path. All other paths respond with 415. */
const uploadPaths = ['/user/import'];

/** Returns whether a route accepts files. Does not check access, or whether a file was sent. */
export function takesUpload({ method, url }: FastifyRequest['routeOptions']): boolean {
  return method === 'POST' && uploadPaths.some((path) => url?.endsWith(path));
}

/** Passes files of at most `maxBytes` to the handler unread, so that the guards run first. */
export function registerUploads(fastify: FastifyInstance, maxBytes: number): void {
  fastify.addContentTypeParser(Object.keys(formats), (request, bytes, done) => {
    const type = request.headers['content-type'] ?? '';
    const takes = takesUpload(request.routeOptions);
    const format = formats[(type.split(';')[0] ?? '').trim().toLowerCase()];
    if (format === undefined || !takes || (charset.exec(type)?.[1] ?? 'utf-8').toLowerCase() !== 'utf-8')
      request.bodyFault = takes ? noFile() : new AppError('request.unsupported_media_type');
    else if (Number(request.headers['content-length']) > maxBytes) request.bodyFault = tooLarge(maxBytes);
    else request.upload = new UploadedFile(format, bytes, maxBytes);
    done(null, undefined);
  });
}

/** Injects the file of a request. @throws request.unsupported_media_type */
export const Upload = createParamDecorator((_data: unknown, context: ExecutionContext): UploadedFile => {
  const { upload } = context.switchToHttp().getRequest<FastifyRequest>();
  if (upload === undefined) throw noFile();
  return upload;
});

/** Returns the error for a body that is not a file, on routes that accept files. */
export function noFile(): AppError {
  return new AppError('request.unsupported_media_type', {
    detail: 'Send `Content-Type: text/csv` or `application/x-ndjson`, in UTF-8.',
  });
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('request.too_large', { detail: `A file may have at most ${maxBytes} bytes. Split the file.` });
}
