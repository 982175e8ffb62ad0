import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, invalid } from '../errors/app-error';
import { pointerTo } from './field-rules';
import { hasMore, parametersMax } from './query-string';
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
/** The usual body of check-token. It cannot contain anything that the strict reader rejects. */
const onlyToken = /^\{"(token|refresh_token)":"([A-Za-z0-9._-]+)"\}$/;
const colonFollows = /[ \t\n\r]*:/y;
const contentType = /^application\/(json|x-www-form-urlencoded)(?:[ \t]*;[ \t]*charset="?utf-8"?)?[ \t]*$/i;

/**
 * Parses bodies strictly: one JSON object in UTF-8, of bounded depth, without prototype keys,
 * repeated keys, NUL, lone surrogates, or numbers that a double cannot hold.
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
  if (hasMore(text, '&', parametersMax)) throw tooManyFields();
  const fields: Body = {};
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === '__proto__' || Object.hasOwn(fields, name))
      throw invalid({ pointer: `/${name}`, code: 'field.malformed', detail: 'must be given once' });
    fields[name] = value;
  }
  assertStorable(fields, []);
  return fields;
}

/** Parses one JSON object strictly. @throws AppError or SyntaxError */
export function readJson(text: string): Body {
  const [, name, token] = onlyToken.exec(text) ?? [];
  if (name !== undefined && token !== undefined) return { [name]: token };
  assertUnambiguous(text);
  const body: unknown = JSON.parse(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid({ pointer: '', code: 'field.wrong_type', detail: 'must be a JSON object' });
  assertStorable(body, []);
  return body as Body;
}

/**
 * Rejects deep and ambiguous JSON before it is parsed.
 * Depth is limited, so that no recursive code receives a deep body (CVE-2026-102281). Repeated keys
 * are rejected, because some parsers use the first value and others the last (RFC 8259 §4).
 * The number of fields is limited, because each unknown field costs more than the rest of its body.
 */
function assertUnambiguous(text: string): void {
  /** keys of each open object, undefined before the first; null for a list */
  const open: (Set<string> | null | undefined)[] = [];
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '"') {
      const end = endOfText(text, index);
      const depth = open.length - 1;
      colonFollows.lastIndex = end;
      if (open[depth] !== null && depth >= 0 && colonFollows.test(text))
        addKey((open[depth] ??= new Set()), text.slice(index, end), depth);
      index = end - 1;
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? undefined : null);
      if (open.length > depthMax)
        throw invalid({ pointer: '', code: 'field.too_deep', detail: `must be at most ${depthMax} levels deep` });
    } else if (character === '}' || character === ']') open.pop();
  }
}

/** Returns the index after the string that starts at `start`. */
function endOfText(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end + 1;
}

/** Returns whether an odd number of backslashes precedes a quote. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first--;
  return (at - first) % 2 === 1;
}

function addKey(keys: Set<string>, quoted: string, depth: number): void {
  const key = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (keys.has(key)) throw invalid({ pointer: '', code: 'field.malformed', detail: 'must not contain a key twice' });
  if (depth === 0 && keys.size === parametersMax) throw tooManyFields();
  keys.add(key);
}

function tooManyFields(): AppError {
  return invalid({ pointer: '', code: 'field.too_many', detail: `must have at most ${parametersMax} fields` });
}

/**
 * Rejects NUL, which PostgreSQL cannot store, text that is not Unicode, keys that reach prototypes
 * (CWE-1321), and numbers that would change silently: 1e400 becomes Infinity and then null, and
 * 2^53 + 1 becomes another number (RFC 7493 §2.2).
 */
function assertStorable(value: unknown, path: (string | number)[]): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed())
      throw faultAt(path, 'field.malformed', 'must be well-formed Unicode without NUL');
  } else if (typeof value === 'number') {
    if (!(Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)))
      throw faultAt(
        path,
        'field.malformed',
        'must be a number that a double can hold exactly; send larger numbers as text',
      );
  } else if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) assertInner(value[index], path, index);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      if (forbiddenKeys.includes(key) || key.includes('\0') || !key.isWellFormed())
        throw faultAt(path, 'field.unknown', 'contains a key that is not allowed');
      assertInner(inner, path, key);
    }
  }
}

function assertInner(value: unknown, path: (string | number)[], key: string | number): void {
  path.push(key);
  assertStorable(value, path);
  path.pop();
}

/** Creates the error for a part of a body. Only a fault costs the text of its pointer. */
function faultAt(path: (string | number)[], code: string, detail: string): AppError {
  return invalid({ pointer: path.map((key) => pointerTo(String(key))).join(''), code, detail });
}
