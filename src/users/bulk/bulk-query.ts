import { AppError, conflictWith, type FieldError, invalid, limitFault } from '../../http/errors/app-error';
import { readBoolean } from '../../http/lists/boolean-parameter';
import { type Condition, parseFilter, type RawQuery } from '../../http/lists/filter';
import { userFilter } from '../user-list';

/** Maximum length of a confirm token. */
export const confirmTokenMax = 512;

/** The query of a bulk request. */
export interface BulkQuery {
  conditions: Condition[];
  /** the filters and `everyone` as they were sent */
  filters: Record<string, string>;
  dry_run: boolean;
  /** number of matching users that the caller expects */
  expected: number | null;
  /** token of the preview that is confirmed */
  confirm_token: string | null;
}

/**
 * Parses the query of a bulk request. A request without a filter needs `everyone=true`, so that a
 * forgotten filter does not select all users.
 * @throws request.invalid, bulk.filter_required
 */
export function parseBulkQuery(query: RawQuery): BulkQuery {
  const { dry_run, everyone, expected, confirm_token, ...filters } = query;
  const errors: FieldError[] = [];
  const conditions = parseFilter(filters, userFilter, errors);
  const preview = readBoolean({ dry_run }, 'dry_run', errors);
  const all = readBoolean({ everyone }, 'everyone', errors);
  if (expected !== undefined && (typeof expected !== 'string' || !/^(0|[1-9]\d{0,8})$/.test(expected)))
    errors.push({ parameter: 'expected', ...limitFault('parameter.malformed', { min: 0, max: 999_999_999 }) });
  if (
    confirm_token !== undefined &&
    (typeof confirm_token !== 'string' || confirm_token === '' || confirm_token.length > confirmTokenMax)
  )
    errors.push({
      parameter: 'confirm_token',
      code: 'parameter.malformed',
      detail: 'must be given once, exactly as the preview returned it',
    });
  if (preview && confirm_token !== undefined) errors.push({ parameter: 'confirm_token', ...conflictWith('dry_run') });
  if (all && Object.keys(filters).length > 0)
    errors.push({ parameter: 'everyone', ...conflictWith(Object.keys(filters)[0] ?? '') });
  if (errors.length > 0) throw invalid(...errors);
  if (conditions.length === 0 && !all) throw new AppError('bulk.filter_required');
  return {
    conditions,
    filters: { ...(filters as Record<string, string>), ...(all ? { everyone: 'true' } : {}) },
    dry_run: preview,
    expected: typeof expected === 'string' ? Number(expected) : null,
    confirm_token: typeof confirm_token === 'string' ? confirm_token : null,
  };
}
