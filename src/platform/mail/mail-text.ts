import { type Language, languageOf } from '../languages';
import type { MailName, MailText, MailTexts } from './mail-name';
import { de } from './texts/de';
import { en } from './texts/en';

/** Texts of the mails by language. */
export const mailTexts: Record<Language, MailTexts> = { en, de };

/**
 * Returns a mail in the language of a locale, or in English if there is no translation.
 * @param ttl_seconds lifetime of the link or code in the mail
 * @param code code in the mail
 * @param hasLink in a notice, the text about the link replaces the advice in the last paragraph
 */
export function mailText(
  name: MailName | 'test',
  locale: string | null,
  ttl_seconds: number,
  code = '',
  hasLink = false,
): MailText & { language: Language } {
  const language = languageOf(locale) ?? 'en';
  const { not_me, [name]: own } = mailTexts[language];
  const undoes = hasLink && own.button === undefined;
  const text = undoes ? { ...own, ...not_me, paragraphs: [...own.paragraphs.slice(0, -1), ...not_me.paragraphs] } : own;
  const paragraphs = text.paragraphs.map((paragraph) =>
    paragraph.replace('{duration}', () => duration(ttl_seconds, language)).replace('{code}', code),
  );
  return { ...text, paragraphs, language };
}

/** Formats a duration, such as "7 days" or "60 Minuten". */
function duration(seconds: number, language: string): string {
  const [unit, size] = seconds >= 172_800 ? ['day', 86_400] : seconds > 3_600 ? ['hour', 3_600] : ['minute', 60];
  const format = new Intl.NumberFormat(language, { style: 'unit', unit: String(unit), unitDisplay: 'long' });
  return format.format(Math.round(seconds / Number(size)));
}
