import { Injectable } from '@nestjs/common';
import { create } from 'handlebars';
import { AppError } from '../common/errors/app-error';
import { errorCodes } from '../common/errors/error-codes';

const render = create().compile(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Error codes</title>
<style>body { font-family: system-ui, sans-serif; line-height: 1.5; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; } dt { margin-top: 1rem; } dd { margin: 0; }</style></head>
<body><h1>Error codes</h1><p>Every refusal is a problem after RFC 9457; its <code>code</code> is one of these.</p>
<dl>{{#each kinds}}<dt id="{{code}}"><code>{{code}}</code> – {{status}} {{title}}</dt><dd>{{meaning}}</dd>{{/each}}</dl></body></html>
`);

/** The pages that the `type` of a problem leads to. */
@Injectable()
export class DocsService {
  /** The page of one code, or of all. @throws request.not_found for a code there is not */
  errorPage(code: string | null): string {
    const kinds = Object.entries(errorCodes).map(([name, { status, title, meaning }]) => ({
      code: name,
      status,
      title,
      meaning,
    }));
    const shown = code === null ? kinds : kinds.filter((kind) => kind.code === code);
    if (shown.length === 0) throw new AppError('request.not_found');
    return render({ kinds: shown });
  }
}
