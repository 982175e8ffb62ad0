import type { RawQuery } from '../common/query/filter';

/** What an import is to do besides creating users. */
export interface ImportOptions {
  /** what becomes of rows whose name, address or id is taken */
  on_conflict: 'fail' | 'skip';
  /** mail an invitation to each user without a password */
  invite: boolean;
}

/** Query parameters of an import, for the document. */
export const importParameters = [
  {
    name: 'dry_run',
    description: '`true`: checks everything, conflicts included, but creates no user; recorded in the audit log',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'on_conflict',
    description: 'What becomes of a row whose name, e-mail address or id is taken: it fails, or it is skipped',
    schema: { type: 'string', enum: ['fail', 'skip'], default: 'fail' },
  },
  {
    name: 'invite',
    description: '`true`: each new user without a password gets an invitation',
    schema: { type: 'boolean', default: false },
  },
];

/** The options as they were sent; that they are well formed has been seen to. */
export function readImportOptions({
  dry_run,
  on_conflict = 'fail',
  invite,
}: RawQuery): ImportOptions & { dry_run: boolean } {
  return {
    dry_run: dry_run === 'true',
    on_conflict: on_conflict === 'skip' ? 'skip' : 'fail',
    invite: invite === 'true',
  };
}
