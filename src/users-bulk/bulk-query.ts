import { AppError, type FieldError, invalid } from '../common/errors/app-error';
import { readBoolean } from '../common/query/boolean-parameter';
import { type Condition, parseFilter, type RawQuery } from '../common/query/filter';
import { userFilter } from '../users/users.service';

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
  const reject = (parameter: string, detail: string, code = 'parameter.malformed') =>
    errors.push({ parameter, code, detail });
  const preview = readBoolean({ dry_run }, 'dry_run', errors);
  const all = readBoolean({ everyone }, 'everyone', errors);
  if (expected !== undefined && (typeof expected !== 'string' || !/^(0|[1-9]\d{0,8})$/.test(expected)))
    reject('expected', 'must be a number');
  if (
    confirm_token !== undefined &&
    (typeof confirm_token !== 'string' || confirm_token === '' || confirm_token.length > confirmTokenMax)
  )
    reject('confirm_token', 'must be given once, exactly as the preview returned it');
  if (preview && confirm_token !== undefined)
    reject('confirm_token', 'cannot be combined with dry_run', 'parameter.conflict');
  if (all && Object.keys(filters).length > 0)
    reject('everyone', 'cannot be combined with a filter', 'parameter.conflict');
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
