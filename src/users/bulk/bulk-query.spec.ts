import { AppError } from '../../http/errors/app-error';
import { decodeQuery } from '../../http/bodies/query-string';
import { parseBulkQuery } from './bulk-query';

/** Returns the code of the error, and the parameters that it names. */
function faultOf(query: string): [code: string, ...parameters: unknown[]] | null {
  try {
    parseBulkQuery(decodeQuery(query));
    return null;
  } catch (error) {
    const { code, extras } = error as AppError;
    return [code, ...(extras.errors ?? []).map(({ parameter }) => parameter)];
  }
}

describe('the query of a bulk change', () => {
  it.each(['', '&', '&&&', 'everyone=false', 'dry_run=true', 'expected=7', 'dry_run=false&expected=7'])(
    'requires a filter, also in %j (B1)',
    (query) => {
      expect(faultOf(query)).toEqual(['bulk.filter_required']);
    },
  );

  it.each([
    ...['=', '=&=', 'everyone=', 'everyone', 'everyone=1', 'everyone=yes', 'everyone=TRUE', 'everyone[]=true'],
    ...['everyone=true&everyone=true', 'email=', 'user_id_in=', 'user_id_in=,', 'status', 'carrier_id=&status='],
    ...['q=', 'q=%20', 'q=%20%20%09', 'attributes.=a', 'attributes.tier=', 'filter=', 'filter={}', 'where=[]'],
    ...['user_id_in=undefined', 'user_id=null', 'user_id=undefined', 'carrier_id=c1&everyone=true', 'all=true'],
    ...['per_page=1', 'order_by=name&order_dir=asc', 'page=1', 'cursor=a', 'count=none'],
  ])('takes no empty or foreign parameter for a filter: %j (B1)', (query) => {
    expect(faultOf(query)?.[0]).toBe('request.invalid');
  });

  it.each([
    ...['emial', 'Status', 'status_', 'statuses', 'carrierId', 'carrier-id', 'user_ids', 'id', 'ids', 'created_after'],
    ...['role_ne', 'email_eq', 'email_starts', 'q_like', 'attribute.a', 'attributes', 'toString', '__proto__'],
    ...['constructor', 'If-Match'],
  ])('names the misspelt filter %s, alone and beside a right one (B2)', (parameter) => {
    for (const rest of ['', '&carrier_id=c1'])
      expect(faultOf(`${parameter}=c1${rest}`)).toEqual(['request.invalid', parameter]);
  });

  it.each([
    ...['status=activ', 'created_at_gt=yesterday', 'created_at_gt=2026-02-30T00:00:00Z', 'user_id=1', 'user_id_in=1'],
    ...['online=1', 'last_login_ip=300.1.1.1', 'phone_isnull=', 'phone_isnull=maybe', 'name_like=ab', 'user_type='],
    ...['must_change_password=TRUE', 'role_in=,', 'expected=-1', 'expected=1e3', 'dry_run=1'],
    ...['attributes.a=1&attributes.b=1&attributes.c=1&attributes.d=1', 'q=a%20b%20c%20d%20e%20f'],
    ...['user_id_isnull=true', 'dry_run=true&confirm_token=a', 'confirm_token=', `confirm_token=${'a'.repeat(513)}`],
  ])('rejects all conditions if one is wrong: %s (B3)', (condition) => {
    expect(faultOf(`carrier_id=c1&${condition}`)?.[0]).toBe('request.invalid');
  });

  it('names each wrong condition (B3)', () => {
    const fault = faultOf('carrier_id=c1&status=activ&emial=a&user_id=1');
    expect(fault?.slice(1).sort()).toEqual(['emial', 'status', 'user_id']);
  });

  it.each([
    ...['carrier_id=c1&carrier_id=c2', 'carrier_id=c1&carrier_id=c1', 'carrier_id[]=c1', 'carrier_id[0]=c1'],
    ...['carrier_id=c1&dry_run=true&dry_run=false', 'carrier_id=c1&expected=3&expected=3'],
    ...['carrier_id=c1&carrier%5Fid=c2', 'carrier_id=c1&confirm_token=a&confirm_token=a'],
  ])('rejects the repeated parameter in %s (B20)', (query) => {
    expect(faultOf(query)?.[0]).toBe('request.invalid');
  });

  it.each([
    ['expected=1e3', 'expected', 'parameter.malformed', { min: 0, max: 999_999_999 }],
    ['confirm_token=', 'confirm_token', 'parameter.malformed', undefined],
    ['dry_run=true&confirm_token=a', 'confirm_token', 'parameter.conflict', { parameter: 'dry_run' }],
    ['everyone=true&carrier_id=c1', 'everyone', 'parameter.conflict', { parameter: 'carrier_id' }],
  ])('returns the fault of %s', (query, parameter, code, params) => {
    const error: object = expect.objectContaining({ parameter, code, ...(params && { params }) });
    const rejection = expect.objectContaining({ extras: { errors: [error] } });
    expect(() => parseBulkQuery(decodeQuery(query))).toThrow(rejection as Error);
  });

  it('accepts the largest options', () => {
    expect(faultOf(`carrier_id=c1&expected=999999999&confirm_token=${'a'.repeat(512)}`)).toBeNull();
  });

  it('returns the filters as they were sent, and the options', () => {
    expect(parseBulkQuery(decodeQuery('carrier_id=c1&expected=3&confirm_token=a'))).toMatchObject({
      filters: { carrier_id: 'c1' },
      ...{ dry_run: false, expected: 3, confirm_token: 'a' },
    });
    expect(parseBulkQuery(decodeQuery('everyone=true&dry_run=true'))).toMatchObject({
      filters: { everyone: 'true' },
      ...{ conditions: [], dry_run: true, expected: null, confirm_token: null },
    });
  });
});
