import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, invalid } from '../errors/app-error';

declare module 'fastify' {
  interface FastifyRequest {
    /** what is wrong with the body; thrown after the guards, so that nobody learns of it without access (401 and 403 come before 400) */
    bodyFault?: AppError;
  }
  interface FastifyContextConfig {
    /** the route takes `application/x-www-form-urlencoded` too: the script-free pages post it */
    form?: boolean;
  }
}

type Body = Record<string, unknown>;

const utf8 = new TextDecoder('utf-8', { fatal: true });
const depthMax = 32;
const contentType = /^application\/(json|x-www-form-urlencoded)(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

/**
 * Reads bodies strictly: one JSON object in UTF-8, no prototype keys, no NUL, no lone surrogates, bounded depth.
 * All other content types are refused. Faults are kept on the request and thrown after the guards.
 */
export function registerBodyParsers(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, readBody(request, body as Buffer));
    } catch (error) {
      request.bodyFault = error instanceof AppError ? error : new AppError('request.malformed_json');
      done(null, undefined);
    }
  });
}

function readBody(request: FastifyRequest, body: Buffer): Body | undefined {
  if (body.length === 0) return undefined;
  const kind = contentType.exec(request.headers['content-type'] ?? '')?.[1]?.toLowerCase();
  const form = kind === 'x-www-form-urlencoded' && request.routeOptions.config.form === true;
  if (kind !== 'json' && !form) throw new AppError('request.unsupported_media_type');
  const text = utf8.decode(body);
  return form ? readForm(text) : readJson(text);
}

function readForm(text: string): Body {
  const fields: Body = {};
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === '__proto__' || Object.hasOwn(fields, name))
      throw invalid({ pointer: `/${name}`, code: 'field.malformed', detail: 'must be given once' });
    fields[name] = value;
  }
  assertStorable(fields, '');
  return fields;
}

function readJson(text: string): Body {
  assertShallow(text);
  const body: unknown = JSON.parse(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid({ pointer: '', code: 'field.wrong_type', detail: 'must be a JSON object' });
  assertStorable(body, '');
  return body as Body;
}

/** Counts brackets before parsing, so that no recursive code ever meets a deep body (CVE-2026-102281). */
function assertShallow(text: string): void {
  let depth = 0;
  let inText = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (inText) {
      if (character === '\\') index++;
      else if (character === '"') inText = false;
    } else if (character === '"') inText = true;
    else if (character === '{' || character === '[') {
      if (++depth > depthMax) throw invalid({ pointer: '', code: 'field.too_deep', detail: `must be at most ${depthMax} levels deep` });
    } else if (character === '}' || character === ']') depth--;
  }
}

/** Refuses what PostgreSQL cannot store (NUL), what is not Unicode, and keys that reach prototypes (CWE-1321). */
function assertStorable(value: unknown, pointer: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed())
      throw invalid({ pointer, code: 'field.malformed', detail: 'must be well-formed Unicode without NUL' });
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__' || key === 'constructor' || key === 'prototype' || key.includes('\0') || !key.isWellFormed()) {
      throw invalid({ pointer, code: 'field.unknown', detail: 'has a key that is not allowed' });
    }
    assertStorable(inner, `${pointer}/${key.replace(/~/g, '~0').replace(/\//g, '~1')}`);
  }
}
