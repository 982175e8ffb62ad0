/*
 * Patterns of text fields. Validation and the OpenAPI document use the same pattern.
 * A pattern uses only syntax that ECMA-262 (with the `u` flag), Python's `re` and RE2 share: no
 * lookaround, no `\d`, `\w`, `\s` or `\u`. Characters beyond U+00FF are written literally.
 */

const range = (first: number, last: number = first) =>
  first === last ? String.fromCodePoint(first) : `${String.fromCodePoint(first)}-${String.fromCodePoint(last)}`;

/** Zero-width non-joiner and joiner: part of the spelling in Persian, Indic scripts and emoji. */
const joiners = range(0x200c, 0x200d);
/**
 * Variation selectors for text and emoji presentation. All other variation selectors are rejected,
 * because they create look-alikes.
 */
const selectors = range(0xfe0e, 0xfe0f);
/**
 * Invisible characters from U+0600 on: default-ignorable code points, bidirectional controls,
 * line separators, and the blank U+2800.
 */
const hidden = [
  range(0x061c),
  range(0x115f, 0x1160),
  range(0x17b4, 0x17b5),
  range(0x180b, 0x180f),
  range(0x200b, 0x200f),
  range(0x2028, 0x202e),
  range(0x2060, 0x206f),
  range(0x2800),
  range(0x3164),
  range(0xfe00, 0xfe0f),
  // The byte order mark with its unassigned neighbours: Go rejects a source file that contains it.
  range(0xfefd, 0xff00),
  range(0xffa0),
  range(0xfff0, 0xfffb),
  range(0x1bca0, 0x1bca3),
  range(0x1d173, 0x1d17a),
  range(0xe0000, 0xe0fff),
].join('');
/**
 * Latin, Greek, Cyrillic, Armenian and Hebrew: scripts that use no joiners. An invisible joiner
 * would create a look-alike.
 */
const plain = `[ -~\\xa0-\\xac\\xae-${range(0x034e)}${range(0x0350)}-${range(0x05ff)}]`;
const other = `[^\\x00-${range(0x05ff)}${hidden}]`;

const composed = `${other}[${selectors}]?`;

/**
 * Matches text without control, bidirectional and invisible characters (UTR 36, UTS 39; Trojan
 * Source). Joiners and emoji selectors are accepted only after a character from U+0600 on. After a
 * joiner, the next character must be from U+0600 on too.
 */
export const visibleText = new RegExp(`^(?:${plain}|${composed}(?:[${joiners}]${composed})*)*$`, 'u');

/** Matches text that PostgreSQL can store: any text without NUL. */
export const storableText = /^[^\x00]*$/; // eslint-disable-line no-control-regex -- rejects NUL

/** Matches UUIDs of any version. */
export const uuidForm = /^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$/;

const clock = '([01][0-9]|2[0-3]):[0-5][0-9]';
/**
 * Matches RFC 3339 times; whether the day exists in the calendar is left to the `date-time` format.
 */
export const timeForm = new RegExp(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T${clock}:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]${clock})$`);

const octet = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const ipv4 = `${octet}(\\.${octet}){3}`;
const group = '[0-9A-Fa-f]{1,4}';
const tail = `(${group}:${group}|${ipv4})`;
/** Returns the pattern of at most `most` groups before `::`. */
const before = (most: number) => (most === 1 ? `(${group})?` : `((${group}:){0,${most - 1}}${group})?`);
/** The nine forms of RFC 3986 §3.2.2. */
const ipv6 = [
  `(${group}:){6}${tail}`,
  `::(${group}:){5}${tail}`,
  ...[4, 3, 2, 1].map((groups) => `${before(5 - groups)}::(${group}:){${groups}}${tail}`),
  `${before(5)}::${tail}`,
  `${before(6)}::${group}`,
  `${before(7)}::`,
].join('|');

const bits32 = '(3[0-2]|[12]?[0-9])';
const bits128 = '(12[0-8]|1[01][0-9]|[1-9]?[0-9])';

/** Matches an IPv4 or IPv6 address, or one with a prefix length such as 10.0.0.0/8. */
export const addressForm = new RegExp(`^(${ipv4}(/${bits32})?|(${ipv6})(/${bits128})?)$`);

/**
 * Returns the pattern of a form for the OpenAPI document.
 * `source` escapes line separators in a way that RE2 cannot read.
 */
export function patternOf(form: RegExp): string {
  const source = form.source.replaceAll('\\/', '/');
  return source.replace(/\\u(202[89])/g, (_escape, code: string) => String.fromCodePoint(parseInt(code, 16)));
}
