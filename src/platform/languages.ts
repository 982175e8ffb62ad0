/** Languages of mails and pages. The first is the fallback. */
export const languages = ['en', 'de'] as const;

/** A language of mails and pages. */
export type Language = (typeof languages)[number];

/** Maximum length of a header. Browsers usually send fewer than 60 characters. */
const headerLengthMax = 256;

/** Returns the language of a BCP 47 tag, or null if mails and pages are not translated to it. */
export function languageOf(tag: string | null): Language | null {
  const requested = tag?.split('-')[0]?.toLowerCase();
  return languages.find((language) => language === requested) ?? null;
}

/**
 * Returns the best language for an `Accept-Language` header (RFC 9110 §12.5.4).
 * Reads at most ten ranges, and ignores a header of more than 256 characters.
 */
export function acceptedLanguage(header: string | undefined): Language {
  if (header === undefined || header.length > headerLengthMax) return languages[0];
  const ranges = header.split(',', 10).map((range) => {
    const [tag = '', quality = 'q=1'] = range.split(';').map((part) => part.trim());
    return { language: languageOf(tag), weight: Number(quality.replace(/^q=/i, '')) };
  });
  const [best] = ranges
    .filter(({ language, weight }) => language !== null && weight > 0)
    .sort((a, b) => b.weight - a.weight);
  return best?.language ?? languages[0];
}
