import { type FieldError, invalid, limitFault } from '../errors/app-error';
import type { RawQuery } from '../lists/filter';

/** Maximum number of query parameters, and of fields in a body. */
export const parametersMax = 200;

const malformed = Symbol('malformed');

type DecodedQuery = RawQuery & { [malformed]?: FieldError[] };

/** Returns whether a text has more than `max` parts. Reads no further than that. */
export function hasMoreParts(text: string, separator: string, max: number): boolean {
  return text.split(separator, max + 1).length > max;
}

/**
 * Cuts a URL after the first parameter beyond the maximum, before the router reads it.
 * Fastify decodes the query of an unknown path with its own parser, without a limit: 7,000
 * parameters took 6 ms (H30).
 */
export function cutParameters(url: string): string {
  return url.length <= parametersMax ? url : url.split('&', parametersMax + 1).join('&');
}

/**
 * Decodes query parameters. A repeated parameter becomes an array.
 * Decodes nothing if there are too many: 20,000 parameters would take 75 ms (H30).
 * Records an error for escapes that are not UTF-8. If the escape became the value, `name_ne=%ff`
 * would match all users.
 */
export function decodeQuery(text: string): RawQuery {
  const query = Object.create(null) as DecodedQuery;
  if (hasMoreParts(text, '&', parametersMax)) {
    query[malformed] = [limitFault('parameter.too_many', { max: parametersMax, unit: 'parameters' })];
    return query;
  }
  for (const part of text.split('&')) {
    if (part === '') continue;
    const [name = ''] = part.split('=', 1);
    try {
      const value = decodeURIComponent(part.slice(name.length + 1).replaceAll('+', ' '));
      addParameter(query, decodeURIComponent(name.replaceAll('+', ' ')), value);
    } catch {
      const fault = { parameter: name, code: 'parameter.malformed', detail: 'must be percent-encoded UTF-8' };
      (query[malformed] ??= []).push(fault);
    }
  }
  return query;
}

function addParameter(query: RawQuery, name: string, value: string): void {
  const before = query[name];
  query[name] = before === undefined ? value : [before, value].flat();
}

/** @throws request.invalid for too many parameters, and for escapes that are not UTF-8 */
export function assertDecoded(query: unknown): void {
  const { [malformed]: errors } = query as DecodedQuery;
  if (errors !== undefined) throw invalid(...errors);
}
