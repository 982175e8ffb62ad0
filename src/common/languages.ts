/** Languages of mails and pages. The first is the fallback. */
export const languages = ['en', 'de'] as const;

/** A language of mails and pages. */
export type Language = (typeof languages)[number];

/** Returns the language of a BCP 47 tag, or null if mails and pages are not translated to it. */
export function languageOf(tag: string | null): Language | null {
  const requested = tag?.split('-')[0]?.toLowerCase();
  return languages.find((language) => language === requested) ?? null;
}

/**
 * Returns the best language for an `Accept-Language` header (RFC 9110 §12.5.4).
 * Reads at most ten ranges.
 */
export function acceptedLanguage(header: string | undefined): Language {
  const ranges = (header ?? '').split(',', 10).map((range) => {
    const [tag = '', quality = 'q=1'] = range.trim().split(/ *; */);
    return { language: languageOf(tag), weight: Number(quality.replace(/^q=/i, '')) };
  });
  const [best] = ranges.filter(({ language, weight }) => language !== null && weight > 0).sort(byWeight);
  return best?.language ?? languages[0];
}

function byWeight(a: { weight: number }, b: { weight: number }): number {
  return b.weight - a.weight;
}
