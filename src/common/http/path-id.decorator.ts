// eslint-disable-next-line house/injection -- the only use
import { Param, ParseUUIDPipe, type PipeTransform } from '@nestjs/common';

const uuid = new ParseUUIDPipe({ errorHttpStatusCode: 404 });
const lowerCase: PipeTransform<string, string> = { transform: (id) => id.toLowerCase() };

/**
 * Injects an id of the path in lower case, as the database returns ids. Rules, counters and jobs
 * compare ids as text: another spelling must not be another user (Z22). Rejects other values with
 * 404.
 */
export function PathId(name: string): ParameterDecorator {
  return Param(name, uuid, lowerCase);
}
