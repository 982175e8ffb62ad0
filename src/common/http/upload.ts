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

/** A file that is still coming in. */
export interface UploadedFile {
  format: 'csv' | 'ndjson';
  /** nothing is read before it is iterated */
  bytes: Readable;
}

const formats: Record<string, UploadedFile['format']> = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' };
const charset = /;[ \t]*charset="?([^";\s]*)"?/i;

/** The paths below the base that take files; all others refuse them as an unsupported media type. */
const uploadPaths = ['/user/import'];

/** Whether a request may send a file: then neither its length nor the time it takes is limited, as long as data flows. */
export function takesUpload({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'POST' && uploadPaths.some((path) => routeOptions.url?.endsWith(path));
}

/** Hands files over unread: the guards come first, and the handler reads what it can take. */
export function registerUploads(fastify: FastifyInstance): void {
  fastify.addContentTypeParser(Object.keys(formats), (request, bytes, done) => {
    const type = request.headers['content-type'] ?? '';
    const format = formats[(type.split(';')[0] ?? '').trim().toLowerCase()];
    if (format === undefined || !takesUpload(request) || (charset.exec(type)?.[1] ?? 'utf-8').toLowerCase() !== 'utf-8')
      request.bodyFault = takesUpload(request) ? noFile() : new AppError('request.unsupported_media_type');
    else request.upload = { format, bytes };
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
