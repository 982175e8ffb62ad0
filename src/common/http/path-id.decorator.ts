// eslint-disable-next-line house/injection -- the only use
import { Param, ParseUUIDPipe, type PipeTransform } from '@nestjs/common';

const uuid = new ParseUUIDPipe({ errorHttpStatusCode: 404 });
const lowerCase: PipeTransform<string, string> = { transform: (id) => id.toLowerCase() };

/**
 * Injects an id of the path, or rejects the request with 404. Lowers the case: rules, counters and
 * jobs compare ids as text, and another spelling must not be another user (Z22).
 */
export function PathId(name: string): ParameterDecorator {
  return Param(name, uuid, lowerCase);
}
