import type { MailName, MailText, MailTexts } from './mail-name';
import { de } from './texts/de';
import { en } from './texts/en';

const locales: Record<string, MailTexts> = { en, de };

/** A mail in the nearest language there is, filled in; English when there is none. */
export function mailText(name: MailName, locale: string | null, values: Record<string, string | number>): MailText {
  const language = locale?.split('-')[0]?.toLowerCase() ?? '';
  const text = (Object.hasOwn(locales, language) ? locales[language] : undefined)?.[name] ?? en[name];
  const fill = (paragraph: string) => paragraph.replace(/\{(\w+)\}/g, (_match, key: string) => String(values[key] ?? ''));
  return { ...text, paragraphs: text.paragraphs.map(fill) };
}
