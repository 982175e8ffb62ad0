import { includesOwn, isLimited, narrowGrant, type TokenGrant, withinGrant } from './token-grant';

const own = 'carrier-platform';

it.each([
  [undefined, true],
  [own, true],
  ['other', false],
  [['other', own], true],
  [[], false],
])('finds this service in the audience %j: %p', (audience, found) => {
  expect(includesOwn(audience)).toBe(found);
});

it.each<[TokenGrant | null, boolean]>([
  [null, false],
  [{}, false],
  [{ client_id: 'k' }, false],
  [{ audience: [own] }, true],
  [{ permissions: [] }, true],
])('limits a token by the grant %j: %p', (grant, limited) => {
  expect(isLimited(grant)).toBe(limited);
});

it.each<[TokenGrant | null, string[], string[]]>([
  [null, ['a:b', 'c:d'], ['a:b', 'c:d']],
  [{ audience: [own] }, ['a:b'], ['a:b']],
  [{ permissions: ['*'] }, ['a:b'], ['a:b']],
  [{ permissions: ['a:b', 'x:y'] }, ['a:b', 'c:d'], ['a:b']],
  [{ permissions: ['a:b'] }, ['*'], ['a:b']],
  [{ permissions: [] }, ['*'], []],
])('leaves of the grant %j and the permissions %j: %j', (grant, held, left) => {
  expect(withinGrant(grant, held)).toEqual(left);
});

describe('a narrowed grant', () => {
  const grant = { audience: [own, 'api'], permissions: ['a:b', 'c:d'], client_id: 'k' };

  it.each<[TokenGrant | null, TokenGrant, TokenGrant | null]>([
    [grant, {}, grant],
    [null, {}, null],
    [null, { permissions: ['a:b'] }, { permissions: ['a:b'] }],
    [null, { audience: [own] }, { audience: [own] }],
    [grant, { audience: ['api'] }, { ...grant, audience: ['api'] }],
    [grant, { permissions: ['a:b'] }, { ...grant, permissions: ['a:b'] }],
  ])('of %j to %j is %j', (before, asked, after) => {
    expect(narrowGrant(before, asked, ['a:b', 'c:d', 'e:f'])).toEqual(after);
  });

  it.each<[TokenGrant | null, TokenGrant, string[]]>([
    [null, { audience: ['api'] }, ['*']],
    [null, { audience: [own], permissions: ['a:b'] }, []],
    [grant, { permissions: ['e:f'] }, ['*']],
    [grant, { permissions: ['a:b', 'c:d'] }, ['a:b']],
    [grant, { audience: ['api', 'other'] }, ['*']],
  ])('of %j to %j is rejected for a user with %j (J30)', (before, asked, held) => {
    expect(() => narrowGrant(before, asked, held)).toThrow('auth.scope_exceeded');
  });

  it('has at most 2,000 characters together with the audience', () => {
    const asked = (length: number) => ({ audience: [own], permissions: ['x'.repeat(length)] });
    const rest = JSON.stringify([[own], ['']]).length;
    expect(narrowGrant(null, asked(2_000 - rest), ['*'])).toEqual(asked(2_000 - rest));
    const error: object = expect.objectContaining({
      pointer: '/permissions',
      code: 'field.too_long',
      params: { max: 2_000 },
    });
    const rejection = expect.objectContaining({ code: 'request.invalid', extras: { errors: [error] } });
    expect(() => narrowGrant(null, asked(2_001 - rest), ['*'])).toThrow(rejection as Error);
  });
});
