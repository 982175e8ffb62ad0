import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, type FieldError, invalid, limitFault } from '../errors/app-error';
import { pointerTo } from '../fields/field-rules';
import { hasMoreParts, parametersMax } from './query-string';
import { noFile, registerUploads, takesUpload } from './upload';

declare module 'fastify' {
  interface FastifyRequest {
    /** body that `parseBody` has not parsed yet */
    unparsed?: Buffer | undefined;
    /** error in the body; thrown after the guards, because 401 and 403 come before 400 */
    bodyFault?: AppError;
  }
  interface FastifyContextConfig {
    /**
     * the route also accepts `application/x-www-form-urlencoded`, for script-free pages; `only` if
     * a standard requires it
     */
    form?: true | 'only';
  }
}

type Body = Record<string, unknown>;

/** Keeps a byte order mark, so that JSON.parse rejects it (RFC 8259 §8.1). */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Keys that reach prototypes (CWE-1321). */
export const forbiddenKeys = ['__proto__', 'constructor', 'prototype'];
const depthMax = 32;
/**
 * Maximum number of `":` in a JSON body. Checked before the body is parsed, because 7,800 keys take
 * 6 ms (H30). Texts may contain some too: attributes of 16 KiB up to 2,340.
 */
const keyEndsMax = 2_500;
const contentType = /^application\/(json|x-www-form-urlencoded)(?:[ \t]*;[ \t]*charset="?utf-8"?)?[ \t]*$/i;

/**
 * Parses bodies strictly: one JSON object in UTF-8, of bounded depth, without prototype keys, NUL,
 * lone surrogates, or numbers that a double cannot hold. Of duplicate keys, the last one wins.
 * Rejects all other media types. Bodies are parsed by `parseBody`, after the guard: a rejected
 * request must not occupy the event loop with its body (H30).
 */
export function registerBodyParsers(fastify: FastifyInstance, uploadMaxBytes: number): void {
  fastify.removeAllContentTypeParsers();
  registerUploads(fastify, uploadMaxBytes);
  // `application/json` by name, because Fastify does not cache the parser of `*`.
  fastify.addContentTypeParser(['application/json', '*'], { parseAs: 'buffer' }, (request, body, done) => {
    request.unparsed = body as Buffer;
    done(null, undefined);
  });
}

/** Parses the body of a request once. Keeps an error as `bodyFault`. */
export function parseBody(request: FastifyRequest): void {
  const { unparsed } = request;
  if (unparsed === undefined) return;
  request.unparsed = undefined;
  try {
    request.body = readBody(request, unparsed);
  } catch (error) {
    request.bodyFault = error instanceof AppError ? error : new AppError('request.malformed_json');
  }
}

function readBody(request: FastifyRequest, body: Buffer): Body | undefined {
  if (body.length === 0) return undefined;
  const kind = contentType.exec(request.headers['content-type'] ?? '')?.[1]?.toLowerCase();
  // Read once: Fastify's getter builds a new object on each access.
  const { routeOptions } = request;
  if (takesUpload(routeOptions)) throw noFile();
  const { form: forms } = routeOptions.config;
  const form = kind === 'x-www-form-urlencoded' && forms !== undefined;
  if (!form && forms === 'only')
    throw new AppError('request.unsupported_media_type', {
      detail: 'Send `Content-Type: application/x-www-form-urlencoded`, in UTF-8.',
    });
  if (!form && kind !== 'json') throw new AppError('request.unsupported_media_type');
  const text = utf8.decode(body);
  return form ? readForm(text) : readJson(text);
}

function readForm(text: string): Body {
  if (hasMoreParts(text, '&', parametersMax)) throw tooMany(parametersMax, 'fields');
  const fields: Body = {};
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === '__proto__' || Object.hasOwn(fields, name))
      throw invalid({ pointer: `/${name}`, code: 'field.malformed', detail: 'must be given once' });
    fields[name] = value;
  }
  assertStorable(fields);
  return fields;
}

/** Parses one JSON object strictly. @throws AppError or SyntaxError */
export function readJson(text: string): Body {
  const keyEnds = text.matchAll(/"\s*:/g);
  for (let count = 0; keyEnds.next().done === false; count++)
    if (count === keyEndsMax) throw tooMany(keyEndsMax, 'keys');
  const body = readJsonValue(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid({ pointer: '', code: 'field.wrong_type', detail: 'must be a JSON object' });
  if (Object.keys(body).length > parametersMax) throw tooMany(parametersMax, 'fields');
  return body as Body;
}

/** Parses one JSON value that PostgreSQL can store unchanged. @throws AppError or SyntaxError */
export function readJsonValue(text: string): unknown {
  const value: unknown = JSON.parse(text);
  assertStorable(value);
  return value;
}

function tooMany(max: number, parts: 'fields' | 'keys'): AppError {
  return invalid({ pointer: '', ...limitFault('field.too_many', { max, unit: parts }) });
}

function assertStorable(value: unknown): void {
  const fault = faultIn(value, 0);
  if (fault !== null) throw invalid(fault);
}

/**
 * Returns the first part of a value that must not be stored: NUL, which PostgreSQL cannot store,
 * text that is not Unicode, keys that reach prototypes (CWE-1321), numbers that would change
 * silently, and deep nesting. 1e400 becomes Infinity and then null, and 2^53 + 1 becomes another
 * number (RFC 7493 §2.2). Recursive code must not receive a deep body (CVE-2026-102281).
 */
function faultIn(value: unknown, depth: number): FieldError | null {
  if (typeof value === 'string') return isText(value) ? null : malformed('must be well-formed Unicode without NUL');
  if (typeof value === 'number')
    return (Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value))
      ? null
      : malformed('must be a number that a double can hold exactly; send larger numbers as text');
  if (typeof value !== 'object' || value === null) return null;
  if (depth === depthMax) return { pointer: '', ...limitFault('field.too_deep', { max: depthMax, unit: 'levels' }) };
  // Not `Object.entries`, which takes twice as long for 64 KiB of short lists.
  const isList = Array.isArray(value);
  const keys = isList ? null : Object.keys(value);
  const items: unknown[] = isList ? value : Object.values(value);
  if (keys?.some((key) => forbiddenKeys.includes(key) || !isText(key)) === true)
    return { pointer: '', code: 'field.unknown', detail: 'contains a key that is not allowed' };
  for (let index = 0; index < items.length; index++) {
    const fault = faultIn(items[index], depth + 1);
    if (fault !== null)
      return { ...fault, pointer: `${pointerTo(keys?.[index] ?? String(index))}${fault.pointer ?? ''}` };
  }
  return null;
}

function isText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function malformed(detail: string): FieldError {
  return { pointer: '', code: 'field.malformed', detail };
}
