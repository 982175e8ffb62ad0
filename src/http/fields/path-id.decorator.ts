// eslint-disable-next-line house/injection -- the only use
import { Param, ParseUUIDPipe, type PipeTransform } from '@nestjs/common';

const uuid = new ParseUUIDPipe({ errorHttpStatusCode: 404 });
const lowerCase: PipeTransform<string, string> = { transform: (id) => id.toLowerCase() };

/**
 * Injects an id of the path in lower case, or rejects the request with 404. Rules, counters and
 * jobs compare ids as text, so another spelling of an id must not become another user (Z22).
 */
export function PathId(name: string): ParameterDecorator {
  return Param(name, uuid, lowerCase);
}
