import { languageOf } from '../languages';
import type { MailFacts, MailText } from './mail-name';
import type { MailOrigin } from './mail-origin';
import { mailTexts } from './mail-text';

/** A line of the details below the text of a mail. */
interface MailDetail {
  label: string;
  value: string;
  /**
   * whether mail programs could turn the value into a link; the HTML part then links it to `home`,
   * because mail programs do not change text within a link
   */
  linkable: boolean;
}

/** The content of a mail. */
export interface MailContent extends MailText {
  product: string;
  details: MailDetail[];
  /** address in the footer */
  home: string;
  link?: string | undefined;
}

/** Follows a dot that must not become part of a link. */
const zeroWidthNonJoiner = '\u200c';

/** Returns the details of a mail: the account, the facts, and the origin of a change. */
export function detailsOf(
  to: { name: string; carrier_id: string | null; locale: string | null; timezone: string | null },
  origin: MailOrigin | undefined,
  { factor, codes_left, keys = [], suspended_keys = [], webhook }: MailFacts = {},
): MailDetail[] {
  const language = languageOf(to.locale) ?? 'en';
  const { labels } = mailTexts[language];
  const account = [[labels.name, to.name], ...(to.carrier_id === null ? [] : [[labels.carrier, to.carrier_id]])];
  const facts = [
    ...(factor === undefined ? [] : [[labels.factor, labels.factors[factor]]]),
    ...(codes_left === undefined ? [] : [[labels.codes_left, String(codes_left)]]),
    ...keys.map(({ key_id, name }) => [labels.keys, `${harmless(name)} (${key_id})`]),
    ...suspended_keys.map(({ key_id, name }) => [labels.suspended_keys, `${harmless(name)} (${key_id})`]),
    ...(webhook === undefined ? [] : [[labels.webhook, harmless(webhook)]]),
  ];
  const time = origin === undefined ? [] : [[labels.time, timeText(origin.at, language, to.timezone)]];
  const source =
    origin?.by_other === true
      ? [[labels.changed_by, labels.administration]]
      : [
          [labels.ip, origin?.ip ?? labels.unknown],
          [labels.device, origin?.device ?? labels.unknown],
        ];
  return [...account, ...facts, ...time, ...(origin === undefined ? [] : source)].map(([label = '', value = '']) => ({
    label,
    value,
    linkable: value.includes('.'),
  }));
}

/** Returns the plain text of a mail. */
export function plainText({ product, paragraphs, details, home, link }: MailContent): string {
  const lines = details.map(({ label, value }) => `${label}: ${unlinked(value)}`);
  return [
    ...paragraphs.map(wrap),
    ...(link === undefined ? [] : [link]),
    ...(lines.length === 0 ? [] : [lines.join('\n')]),
    `${product}\n${home}`,
  ].join('\n\n');
}

/** Returns an address without its scheme and token, short enough for a narrow screen. */
export function shortLink(page: string): string {
  return `${page.replace(/^https?:\/\//, '').split('{token}')[0]}…`;
}

/**
 * Breaks names that mail programs turn into a link in plain text: names with `www.` or `ftp.`.
 * Other names stay unchanged, so that users can copy their login name.
 */
function unlinked(value: string): string {
  return /(www|ftp)\d*\./i.test(value) ? value.replaceAll('.', `.${zeroWidthNonJoiner}`) : value;
}

/** Replaces the characters by which mail programs would detect a link in a text of any user. */
function harmless(text: string): string {
  return text.replace(/[^\p{L}\p{N} _-]/gu, '·');
}

function timeText(at: string, language: string, timezone: string | null): string {
  const locale = language === 'en' ? 'en-GB' : language;
  const format = { dateStyle: 'long', timeStyle: 'long', timeZone: timezone ?? 'UTC' } as const;
  return new Intl.DateTimeFormat(locale, format).format(new Date(at));
}

/** Wraps text at 76 columns. Longer lines would be encoded, and the encoding would break links. */
function wrap(text: string): string {
  return text.replace(/(?=.{77})(.{1,76}) /g, '$1\n');
}
