import { type FieldError, invalid } from '../errors/app-error';
import type { RawQuery } from '../query/filter';

/** Maximum number of query parameters, and of fields in a body. */
export const parametersMax = 200;

const malformed = Symbol('malformed');

/** Query parameters, and the errors of the query. */
type DecodedQuery = RawQuery & { [malformed]?: FieldError[] };

/** Returns whether a text has more than `max` parts. Reads no further than that. */
export function hasMoreParts(text: string, separator: string, max: number): boolean {
  return text.split(separator, max + 1).length > max;
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
    const detail = `the query must have at most ${parametersMax} parameters`;
    query[malformed] = [{ code: 'parameter.too_many', detail }];
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
