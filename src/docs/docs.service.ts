import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { AppError } from '../common/errors/app-error';
import { errorCodes, type ErrorKind } from '../common/errors/error-codes';
import { compileTemplate } from '../common/http/html-template';

type ShownKind = Pick<ErrorKind, 'status' | 'title' | 'meaning'> & { code: string };

const render = compileTemplate<{ kinds: ShownKind[] }>(join(__dirname, 'templates', 'error-codes.hbs'));

/** Renders the pages that the `type` of a problem links to. */
@Injectable()
export class DocsService {
  /** Returns the page of one error code, or of all error codes. @throws request.not_found */
  errorPage(wanted: string | null): string {
    const kinds = Object.entries(errorCodes)
      .filter(([code]) => wanted === null || code === wanted)
      .map(([code, { status, title, meaning }]) => ({ code, status, title, meaning }));
    if (kinds.length === 0) throw new AppError('request.not_found');
    return render({ kinds });
  }
}
