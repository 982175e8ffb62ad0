import { canonicalEmail, isEmailAddress } from './email-address';

describe('e-mail addresses', () => {
  it.each([
    [' Ada@Example.COM ', 'Ada@example.com'],
    ['a+tag@exämple.com', 'a+tag@xn--exmple-cua.com'],
    ['ada@XN--BCHER-KVA.example', 'ada@xn--bcher-kva.example'],
    ['a@ｅxample.com', 'a@example.com'],
    ['ada@cafe\u0301.example', 'ada@xn--caf-dma.example'],
    ['ada@stop\u3002example', 'ada@stop.example'],
    ['ada@\u212Aelvin.example', 'ada@kelvin.example'],
    ['ada@so\u00ADft.example', 'ada@soft.example'],
    ['\u00A0 ada@space.example\u3000', 'ada@space.example'],
    ['bob@stra\u00DFe.example', 'bob@xn--strae-oqa.example'],
    ['bob@\u0430pple.example', 'bob@xn--pple-43d.example'],
  ])('normalises %s (E7)', (typed, canonical) => {
    expect(canonicalEmail(typed)).toBe(canonical);
    expect(isEmailAddress(canonical)).toBe(true);
  });

  it.each([
    ...['a', '@b.c', 'a@b', 'a@', '@example.org', 'a\uFF20example.com', 'a\uFE6Bexample.com', 'a@b@example.org'],
    ...['victim@example.com\uFF20example.org', '"a@example.com"@example.org', '"a"@example.org', '"a\\"b"@example.org'],
    ...['a(comment)@example.org', 'a@example.org(comment)', 'a@(comment)example.org', 'a@example.org(x@y.example)'],
    ...['a@[127.0.0.1]', 'a@[IPv6:::1]', 'a@127.0.0.1', 'a@0x7f.1', 'a@2130706433', 'a@example.123'],
    ...['=?utf-8?q?victim=40example=2Ecom?=@example.org=?x?=', '=?utf-7?q?a+AEA-example.com+ACA-?=@example.org foo'],
    ...['a@example.org,b@example.org', 'a@example.org, b@example.org', 'a@example.org;b@example.org'],
    ...['a@example.org b@example.org', 'Group:a@example.org,b@example.org;', 'Ada <a@example.org>', '<a@example.org>'],
    ...['a@example.org\r\nBcc: x@example.org', 'a@exam\r\nple.org', 'a@exam\tple.org', 'a\r\n@example.org'],
    ...['a@example.org%0d%0aBcc:x', 'a@exam%70le.org', 'a%00@example.org\u0000', 'a@example.org/evil.example'],
    ...['a@example.org?evil.example', 'a@example.org#evil.example', 'a@example.org\\evil.example', 'a@example.org:25'],
    ...['a@example.org>', 'a@example.org.', 'a@.example.org', 'a@example..org', 'a@-example.org', '.a@example.org'],
    ...['a.@example.org', 'a..b@example.org', 'é@b.example', 'adm\u0131n@example.org', 'o\uFB03ce@example.org'],
    ...['stra\u00DFe@example.org', '\u212Aelvin@example.org', 'jose\u0301@example.org', 'a\u200Bb@example.org'],
    ...['a\u202Eb@example.org', 'a@xn--a.org', 'a@xn--b\u00FCcher.example'],
    ...[`${'a'.repeat(65)}@b.example`, `a@${'a'.repeat(64)}.org`, `a@${'a.'.repeat(125)}org`],
  ])('rejects %j (E9)', (typed) => {
    expect(isEmailAddress(canonicalEmail(typed))).toBe(false);
  });

  it.each([
    ['labels', `a@${'a.'.repeat(500_000)}a`],
    ['dots', `${'a.'.repeat(500_000)}@example.org`],
    ['brackets', '('.repeat(1_000_000)],
    ['quoted pairs', `${'"\\"'.repeat(300_000)}@example.org`],
    ['at signs', '@'.repeat(1_000_000)],
    ['hyphens', `a@${'-'.repeat(1_000_000)}.org`],
    ['wide letters', `a@${'\uFF41'.repeat(500_000)}.org`],
    ['A-labels', `a@${'xn--'.repeat(250_000)}.org`],
    ['spaces', `${' '.repeat(1_000_000)}a`],
  ])('rejects a million characters of %s without backtracking (E12)', (_name, email) => {
    expect(isEmailAddress(canonicalEmail(email))).toBe(false);
  });
});
