import type { Language } from '../texts/language';

const units = [
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Returns a duration in its largest unit, rounded up, such as "3 minutes". */
export function durationText(seconds: number, language: Language): string {
  const [unit, size] = units.find(([, length]) => seconds >= length) ?? (['second', 1] as const);
  const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' });
  return format.format(Math.max(1, Math.ceil(seconds / size)));
}
