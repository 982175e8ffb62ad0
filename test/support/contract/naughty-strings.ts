/**
 * Texts that break careless code, grouped by target. They contain no NUL and no lone surrogates,
 * which are rejected everywhere.
 */
export const naughtyStrings: Record<string, string[]> = {
  emptiness: [' ', '\u00a0', '\u3000', '.', '..', '?', '0', 'null', 'NULL', 'undefined', 'NaN', '(empty)'],
  truth: ['true', 'false', '1', '-1', '1e1000', '0x10', '-Infinity', '٣', '１２３'],
  names: [
    ...["O'Neil", 'van der Ähm', 'İstanbul', 'ıI', 'ẞß', 'Ǆǆǅ', 'ﬁne', 'Åå', 'A\u030a', 'ñn\u0303', 'Ωω', 'Иван'],
    ...['王小明', 'عمر'],
  ],
  symbols: [
    ...['`~!@#$%^&*()', '<>?:"{}|_+', ",./;'[]\\-=", '¡™£¢∞§¶•ªº–≠', '«»‹›„“', '⁰⁴⁵₀₁', '(╯°□°)╯'],
    '\u0360z\u0361a\u0362l\u0363g\u0364o',
  ],
  emoji: [
    ...['😀', '👩‍👩‍👧‍👦', '🇦🇹🇩🇪', '👋🏿', '❤\ufe0f', '1\ufe0f\u20e3', '\u{1d54f}', '\u{10fffd}', '\ue000', '\ufdd0'],
    ...['\ufffd', '\u{2f81a}'],
  ],
  sql: [
    ...["'", "''", '"', '--', '/*', "' or ''='", '1;select pg_sleep(9)--', "') or 1=1--", '$1', '$$x$$', '%'],
    ...['_', '%%%', '\\', "\\'", "E'\\x27'", 'users.name', '{1,2}', 'NULL::text'],
  ],
  markup: [
    ...['<b>', '&lt;', '&amp;amp;', '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>'],
    ...["javascript:alert('x')", '<!--', '<![CDATA[', '<?xml version="1.0"?>', '<!DOCTYPE x [<!ENTITY e "x">]>'],
  ],
  templates: [
    ...['{{7*7}}', '${7*7}', '#{7*7}', '<%= 7*7 %>', '{% x %}', '{{constructor}}', '%s%n%d', '%(x)s', '{0}'],
    ...['{token}', '$(id)', '`id`', '| id', '; id', '&& id'],
  ],
  paths: [
    ...['../../etc/passwd', '..\\..\\x', '/dev/null', 'C:\\x', 'file:///etc/passwd', 'CON', 'nul.txt'],
    ...['//evil.test', 'http://evil.test/?q=1#f', '%2e%2e%2f', '%00', '%0d%0a', '\\u0000'],
  ],
  objects: [
    ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'length', '[object Object]'],
    ...['{"a":1}', '[1]', '{"$ne":""}', 'then', '()', '=1+1', '+1', '-1+1', '@SUM(1)'],
  ],
  directories: ['*', '(|(uid=*))', '*)(uid=*', 'cn=x,dc=y', 'a\\2ab', 'x or x=y', "' and count(/*)=1"],
};

/** All naughty strings. */
export const allNaughtyStrings: string[] = Object.values(naughtyStrings).flat();
