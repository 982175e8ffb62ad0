import { assertHolds, holds, misspeltPermissions } from './permissions';

it.each([
  [['user:read'], 'user:read', true],
  [['user:read'], 'user:update', false],
  [['*'], 'user:update', true],
  [['user:*', 'user'], 'user:read', false],
  [[], 'user:read', false],
])('holds with %j the permission %s: %p', (permissions, wanted, held) => {
  expect(holds(permissions, wanted)).toBe(held);
});

it('names a missing permission', () => {
  expect(() => assertHolds({ permissions: ['user:read'] }, 'user:read')).not.toThrow();
  const detail = 'The permission user:purge is missing.';
  const errors = [{ code: 'permission.missing', detail, params: { permission: 'user:purge' } }];
  const denied = expect.objectContaining({ code: 'access.denied', extras: { detail, errors } });
  expect(() => assertHolds({ permissions: ['user:read'] }, 'user:purge')).toThrow(denied as Error);
});

describe('a misspelt permission', () => {
  const remedy = ' If the name of the module is correct, send `new_prefix=true`.';

  it.each([
    ['user:raed', 'user:read', ''],
    ['user:', 'user:read', ''],
    ['key:read', 'key:manage', ''],
    ['usr:raed', 'user:read', remedy],
    ['users:purge', 'user:purge', remedy],
    ['roles:manage', 'role:manage', remedy],
  ])('is %s instead of %s', (permission, did_you_mean, remedy) => {
    const detail = `contains the unknown permission ${permission}. Did you mean ${did_you_mean}?${remedy}`;
    expect(misspeltPermissions(['user:read', permission, 'cargo:read', '*'], false)).toEqual([
      { pointer: '/permissions', code: 'permission.unknown', detail, params: { permission, did_you_mean } },
    ]);
  });

  it('can have the name of another module if the caller confirms it', () => {
    expect(misspeltPermissions(['users:purge', 'usr:raed'], true)).toEqual([]);
    expect(misspeltPermissions(['user:raed'], true)).toHaveLength(1);
  });
});
