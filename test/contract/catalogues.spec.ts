import { readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { eventCatalogue, type EventDefinition } from '../../src/audit/event-catalogue';
import { errorCodes } from '../../src/http/errors/error-codes';
import { detailTexts, unitTexts } from '../../web/src/texts/details.de';
import * as de from '../../web/src/texts/errors.de';
import * as en from '../../web/src/texts/errors.en';
import { document } from '../support/document';
import { sourceFiles } from '../support/sources';

const sources = sourceFiles();
/** Returns the text of all source files, except those whose path ends with a suffix. */
const textWithout = (suffix: string) =>
  sources
    .filter(({ path }) => !path.endsWith(suffix))
    .map(({ text }) => text)
    .join('\n');

describe('the error codes', () => {
  const codes = Object.keys(errorCodes).sort();
  /**
   * Codes that no operation returns: a method without an operation is not in the document, and an
   * operation in the background has its reason as `error_code`.
   */
  const ofNoOperation = ['operation.too_slow', 'request.method_not_allowed'];
  /** Failures of the console without a response of the API. */
  const ofConsole = ['network.unreachable', 'network.unexpected_response', 'passkey.not_used'];

  it('are all listed in docs/errors.md, and no others', () => {
    const shown = readFileSync('docs/errors.md', 'utf8').matchAll(/`([a-z]+\.[a-z_]+)`/g);
    const known = [...shown].map(([, code = '']) => code).filter((code) => code in errorCodes);
    expect([...new Set(known)].sort()).toEqual(codes);
  });

  it('are all in the OpenAPI document, except those without an operation', () => {
    const mentioned = [...JSON.stringify(document.paths).matchAll(/`([a-z]+\.[a-z_]+)`/g)].map(([, code = '']) => code);
    const known = mentioned.filter((code) => code in errorCodes);
    expect([...new Set([...known, ...ofNoOperation])].sort()).toEqual(codes);
    expect(ofNoOperation.filter((code) => known.includes(code))).toEqual([]);
  });

  it('are all in use, and the source throws no others', () => {
    const text = textWithout('error-codes.ts').replace(/^\s*(errors: \[[^\]]*\],|\/?\*.*)$/gm, '');
    expect(codes.filter((code) => !text.includes(`'${code}'`))).toEqual([]);
    const thrown = [...text.matchAll(/new AppError\(\s*'([^']+)'/g)].map(([, code = '']) => code);
    expect(thrown.length).toBeGreaterThan(20);
    expect(thrown.filter((code) => !(code in errorCodes))).toEqual([]);
  });

  it('have the form area.what_is_wrong, texts for people, and a retry hint where the error passes', () => {
    for (const [code, kind] of Object.entries(errorCodes)) {
      expect(code).toMatch(/^[a-z]+\.[a-z][a-z_]*$/);
      expect([code, kind.title]).toEqual([code, expect.stringMatching(/^[A-Z].{4,60}[^.]$/)]);
      expect([code, kind.meaning]).toEqual([code, expect.stringMatching(/^[A-Z`].{10,}\.$/)]);
      const passes = [429, 503].includes(kind.status) || code === 'idempotency.in_progress';
      expect([code, 'retry_after_seconds' in kind]).toEqual([code, passes]);
    }
  });

  it('have texts of the console in both languages, which translate only what the service sends', () => {
    for (const { errorTexts } of [en, de]) {
      expect(Object.keys(errorTexts).sort()).toEqual([...codes, ...ofConsole].sort());
      expect(Object.values(errorTexts).filter((text) => text.trim() === '')).toEqual([]);
    }
    expect(Object.keys(de.fieldErrorTexts).sort()).toEqual(Object.keys(en.fieldErrorTexts).sort());
    const text = textWithout('.spec.ts');
    expect(Object.keys(detailTexts).filter((detail) => !text.includes(detail))).toEqual([]);
    const units = [...text.matchAll(/unit: '(\w+)'/g)].map(([, unit = '']) => unit);
    expect(units.filter((unit) => !(unit in unitTexts))).toEqual([]);
  });
});

describe('the event types', () => {
  it('are all recorded by the service', () => {
    const text = textWithout('event-catalogue.ts');
    expect(Object.keys(eventCatalogue).filter((type) => !text.includes(`'${type}'`))).toEqual([]);
  });

  it('declare each key either personal or impersonal', () => {
    for (const [type, { personal = [], impersonal = [] }] of Object.entries<EventDefinition>(eventCatalogue))
      expect([type, personal.filter((key) => impersonal.includes(key))]).toEqual([type, []]);
  });
});

describe('the tables', () => {
  const write = /\b(?:insert into|delete from|update(?= \w+(?: as \w+)?\s+set\b)|merge into|truncate) (\w+)/g;
  const entity = /@Entity\('(\w+)'\)/g;
  const section = readFileSync('docs/architecture.md', 'utf8').split('\n## Tables\n')[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| (`[a-z/-]+\/`(?: `[a-z/-]+\/`)*) \| (.+) \|$/gm)];

  /** Returns whether docs/architecture.md lists the folder as an owner of the table. */
  const isOwner = (mention: string) => {
    const [folder = '', table = ''] = mention.split(' ');
    const row = rows.find(([, , tables = '']) => tables.includes(`\`${table}\``));
    return row?.[1]?.includes(`\`${folder}/\``) === true;
  };

  it.each([
    ['have their entities', entity],
    ['are written only by statements', write],
  ])('%s in the folders that docs/architecture.md names', (_what, pattern) => {
    const mentions = sources.flatMap(({ path, text }) =>
      [...text.matchAll(pattern)].map(([, table]) => `${dirname(relative('src', path))} ${table}`),
    );
    expect(mentions.filter(isOwner)).not.toEqual([]);
    expect(mentions.filter((mention) => !isOwner(mention))).toEqual([]);
  });
});

describe('the packages of the lock file', () => {
  interface Entry {
    name?: string;
    dev?: boolean;
    hasInstallScript?: boolean;
    resolved?: string;
    /** a workspace of this repository */
    link?: boolean;
  }
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Entry> };
  const entries = Object.entries(lock.packages).filter(([location]) => location !== '');

  it('include no telemetry: an inert package stands in for the one of swagger-ui-dist', () => {
    // With an override, the name differs from the path.
    const names = entries.map(([location, { name }]) => name ?? location.split('node_modules/').at(-1) ?? '');
    expect(names).toContain('swagger-ui-dist');
    // prom-client reads the current trace through this interface, which sends nothing.
    const known = ['@opentelemetry/api'];
    expect(names.filter((name) => /telemetry|scarf/.test(name) && !known.includes(name))).toEqual([]);
  });

  it('run no install scripts in a production installation, and name no registry', () => {
    const scripts = entries.filter(([, { hasInstallScript, dev }]) => hasInstallScript === true && dev !== true);
    expect(scripts.map(([location]) => location)).toEqual([]);
    expect(entries.filter(([, { resolved, link }]) => resolved !== undefined && link !== true)).toEqual([]);
  });
});
