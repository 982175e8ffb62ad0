import { type Language, useLanguage } from './language';

/** Formats of times and numbers in one language. */
export interface Formats {
  number: Intl.NumberFormat;
  relative: Intl.RelativeTimeFormat;
  date: Intl.DateTimeFormat;
  /** date and time without seconds */
  minute: Intl.DateTimeFormat;
  /** date and time with seconds and time zone, for logs */
  second: Intl.DateTimeFormat;
  /** the same with weekday and month in full, for titles */
  full: Intl.DateTimeFormat;
}

/** Creating a formatter takes longer than rendering a table row. */
const created = new Map<Language, Formats>();

/** Returns the formats of a language, in the region of the browser, such as Austria for German. */
export function formatsIn(language: Language): Formats {
  let formats = created.get(language);
  if (formats === undefined) {
    const locale = localeOf(language);
    const time = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options);
    formats = {
      number: new Intl.NumberFormat(locale),
      relative: new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }),
      date: time({ dateStyle: 'medium' }),
      minute: time({ dateStyle: 'medium', timeStyle: 'short' }),
      second: time({ dateStyle: 'medium', timeStyle: 'long' }),
      full: time({ dateStyle: 'full', timeStyle: 'long' }),
    };
    created.set(language, formats);
  }
  return formats;
}

/** Returns the formats of the current language. */
export function useFormats(): Formats {
  return formatsIn(useLanguage());
}

/** Returns the locale of the browser that has a language, or else the language. */
export function localeOf(language: Language): string {
  return navigator.languages.find((locale) => locale.split('-')[0] === language) ?? language;
}
