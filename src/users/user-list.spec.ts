import 'reflect-metadata';
import { systemActor } from '../access/actor';
import type { AppError } from '../http/errors/app-error';
import { CursorCodec } from '../http/lists/cursor';
import type { RawQuery } from '../http/lists/filter';
import { parseUserListQuery } from './user-list';

const context = (...permissions: string[]) => ({
  actor: { ...systemActor, permissions },
  cursors: new CursorCodec(Buffer.alloc(32)),
  owner: 'caller',
});

/** Returns the code of the error, the parameters and limits that it names, or null. */
function faultOf(query: RawQuery, ...permissions: string[]): unknown {
  try {
    parseUserListQuery(query, context(...permissions));
    return null;
  } catch (error) {
    const { code, extras } = error as AppError;
    return [code, ...(extras.errors ?? []).map(({ parameter, params }) => parameter ?? params?.['permission'])];
  }
}

it.each(['a', 'a b c d e', '\u3000ada\u00a0\t zuse\ufeff', 'x'.repeat(256)])('searches the words of %j', (q) => {
  expect(parseUserListQuery({ q }, context())).toMatchObject({
    conditions: [{ kind: 'special', name: 'q', value: q }],
    deleted: false,
  });
});

it.each(['a b c d e f', ' \u3000', 'a\0b', 'a\0'])('rejects the words %j', (q) => {
  const params = q.includes('\0') ? undefined : { min: 1, max: 5, unit: 'words' };
  const error: object = expect.objectContaining({
    parameter: 'q',
    code: 'parameter.malformed',
    ...(params && { params }),
  });
  const rejection = expect.objectContaining({ code: 'request.invalid', extras: { errors: [error] } });
  expect(() => parseUserListQuery({ q }, context())).toThrow(rejection as Error);
});

const denied = ['access.denied', 'user:read_deleted'];
it.each<[RawQuery, unknown]>([
  [{}, null],
  [{ order_by: 'deleted_at', carrier_id: 'c1', deleted_at_gt: '2026-01-01T00:00:00Z' }, null],
  [{ order_by: 'name' }, denied],
  [{ name: 'ada' }, denied],
  [{ 'attributes.a': '1' }, denied],
  [{ q: 'ada' }, denied],
  [{ order_by: 'constructor' }, ['request.invalid', 'order_by']],
  [{ user_id: 'x' }, ['request.invalid', 'user_id']],
])('hides fields of deleted users without user:read_deleted: %j', (query, fault) => {
  expect(faultOf({ ...query, deleted: 'true' }, 'user:read')).toEqual(fault);
  const allowed = Array.isArray(fault) && fault !== denied ? fault : null;
  expect(faultOf({ ...query, deleted: 'true' }, 'user:read', 'user:read_deleted')).toEqual(allowed);
});

it('filters by the deletion only in the list of deleted users', () => {
  expect(faultOf({ name: 'ada', order_by: 'name' })).toBeNull();
  expect(faultOf({ deleted: 'false' })).toEqual(['request.invalid', 'deleted']);
  expect(faultOf({ order_by: 'deleted_at' })).toEqual(['request.invalid', 'order_by']);
  expect(parseUserListQuery({ deleted: 'true' }, context())).toMatchObject({ deleted: true });
});
