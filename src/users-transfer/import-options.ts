import { namedEnum } from '../common/named-enum';
import { readBoolean } from '../common/query/boolean-parameter';
import type { RawQuery } from '../common/query/filter';

/** Options of an import. */
export interface ImportOptions {
  /** outcome of rows whose name, address or id is taken */
  on_conflict: 'fail' | 'skip';
  /** invite each user without a password by mail */
  invite: boolean;
}

/** Query parameters of an import, for the OpenAPI document. */
export const importParameters = [
  {
    name: 'dry_run',
    description:
      '`true`: checks all rows and their conflicts with users, but creates no users; recorded in the audit log',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'on_conflict',
    description: 'Outcome of a row whose name, e-mail address or id is taken',
    /** Outcome of a row that conflicts with an existing user. */
    schema: { type: 'string', enum: namedEnum('ConflictRule', ['fail', 'skip']), default: 'fail' },
  },
  {
    name: 'invite',
    description: '`true`: invites each new user without a password by mail',
    schema: { type: 'boolean', default: false },
  },
];

/** Reads the options of an import. `RequestRulesGuard` has checked them. */
export function readImportOptions(query: RawQuery): ImportOptions & { dry_run: boolean } {
  return {
    dry_run: readBoolean(query, 'dry_run'),
    on_conflict: query['on_conflict'] === 'skip' ? 'skip' : 'fail',
    invite: readBoolean(query, 'invite'),
  };
}
