import { canonicalEmail, isEmailAddress } from './email-address';

describe('e-mail addresses', () => {
  it.each([
    [' Ada@Example.COM ', 'Ada@example.com'],
    ['a+tag@exämple.com', 'a+tag@xn--exmple-cua.com'],
    ['a@ｅxample.com', 'a@example.com'],
  ])('normalises %s', (typed, canonical) => {
    expect(canonicalEmail(typed)).toBe(canonical);
    expect(isEmailAddress(canonical)).toBe(true);
  });

  it.each([
    'a',
    '@b.c',
    'a@b',
    'a＠b.example',
    'a@b@c.example',
    '"a"@b.example',
    'a(x)@b.example',
    'a@[127.0.0.1]',
    'a@1.2.3.4',
    'a..b@c.example',
    'a@b.example,c@d.example',
    'é@b.example',
    `${'a'.repeat(65)}@b.example`,
    `a@${'b'.repeat(250)}.example`,
  ])('rejects %s', (typed) => {
    expect(isEmailAddress(canonicalEmail(typed))).toBe(false);
  });
});
