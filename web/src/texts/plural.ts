import type { Language } from './language';

/** Returns one of two texts for a number. The formatted number replaces each `#`. */
export type Plural = (count: number, one: string, other: string) => string;

/**
 * Returns the function that chooses the text for a number by the rules of a language.
 * Use it in the texts of a feature: `users: (count: number) => plural(count, '# user', '# users')`.
 */
export function pluralIn(language: Language): Plural {
  const rules = new Intl.PluralRules(language);
  const number = new Intl.NumberFormat(language);
  return (count, one, other) => (rules.select(count) === 'one' ? one : other).replaceAll('#', number.format(count));
}
