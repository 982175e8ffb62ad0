import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodes } from '../../src/common/errors/error-codes';
import { document } from '../support/document';
import { TestService } from '../support/service';

const table = Object.keys(errorCodes).sort();

/**
 * Codes that no operation returns: a method without an operation is not in the document, and an
 * operation in the background has its reason as `error_code`.
 */
const ofNoOperation = ['operation.too_slow', 'request.method_not_allowed'];

describe('error codes', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  it('shows all codes and no others on the error page', async () => {
    const { text } = await service.get('/docs/errors');
    const shown = [...text.matchAll(/<dt id="([^"]+)">/g)].map(([, code]) => code);
    expect(shown.sort()).toEqual(table);
    for (const [code, { status, title }] of Object.entries(errorCodes))
      expect(text).toContain(`<code>${code}</code> – ${status} ${title}`);
  });

  it('lists all codes and no others in docs/errors.md', () => {
    const text = readFileSync('docs/errors.md', 'utf8');
    const shown = [...text.matchAll(/`([a-z]+\.[a-z_]+)`/g)]
      .map(([, code = '']) => code)
      .filter((code) => code in errorCodes);
    expect([...new Set(shown)].sort()).toEqual(table);
  });

  it('mentions all codes and no others in the document, except those without an operation', () => {
    const mentioned = new Set<string>(ofNoOperation);
    for (const operation of Object.values(document.paths).flatMap((operations) => Object.values(operations)))
      for (const [status, response] of Object.entries(operation.responses))
        for (const [, code = ''] of ((response as { description?: string }).description ?? '').matchAll(
          /`([a-z]+\.[a-z_]+)`/g,
        ))
          if (Number(status) >= 400) mentioned.add(code);
    expect([...mentioned].sort()).toEqual(table);
    expect(ofNoOperation.filter((code) => operationsText().includes(`\`${code}\``))).toEqual([]);
  });

  it('uses all codes and no others in the source', () => {
    const sources = sourcesOf('src')
      .filter((file) => !file.endsWith('error-codes.ts') && !file.endsWith('.spec.ts'))
      .map((file) => readFileSync(file, 'utf8').replace(/^\s*(errors: \[[^\]]*\],|\/?\*.*)$/gm, ''));
    const text = sources.join('\n');
    expect(table.filter((code) => !text.includes(`'${code}'`))).toEqual([]);
    const thrown = [...text.matchAll(/new AppError\(\s*'([^']+)'/g)].map(([, code]) => code);
    expect(thrown.length).toBeGreaterThan(20);
    expect(thrown.filter((code) => !table.includes(code ?? ''))).toEqual([]);
  });

  it.each(table)('serves a page about the type of %s', async (code) => {
    const { status, headers, text } = await service.get(`/docs/errors/${code}`);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(text.match(/<dt /g)).toHaveLength(1);
    expect(text).toContain(`<dt id="${code}">`);
  });

  it('serves a page under the type of a real error response, and 404 for an unknown code', async () => {
    const { body } = await service.get('/user');
    expect(body).toMatchObject({
      code: 'auth.token_missing',
      status: 401,
      type: `${service.config.PUBLIC_URL}/docs/errors/auth.token_missing`,
    });
    expect((await service.get(new URL(body.type as string).pathname)).status).toBe(200);
    for (const code of ['x', 'request', 'auth.token', 'constructor', '__proto__', 'toString'])
      expect((await service.get(`/docs/errors/${code}`)).status).toBe(404);
  });

  it('gives each code the form area.what_is_wrong, texts for people, and a retry hint where it passes', () => {
    for (const [code, kind] of Object.entries(errorCodes)) {
      expect(code).toMatch(/^[a-z]+\.[a-z][a-z_]*$/);
      expect([code, kind.title]).toEqual([code, expect.stringMatching(/^[A-Z].{4,60}[^.]$/)]);
      expect([code, kind.meaning]).toEqual([code, expect.stringMatching(/^[A-Z`].{10,}\.$/)]);
      const passes = [429, 503].includes(kind.status) || code === 'idempotency.in_progress';
      expect([code, 'retry_after_seconds' in kind]).toEqual([code, passes]);
    }
  });
});

function operationsText(): string {
  return JSON.stringify(document.paths);
}

function sourcesOf(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? sourcesOf(path) : path.endsWith('.ts') ? [path] : [];
  });
}
