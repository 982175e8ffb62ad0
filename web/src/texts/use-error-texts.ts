import { ApiProblem, type FieldError } from '../api/problems';
import { own } from '../own';
import { detailTexts as german } from './details.de';
import * as de from './errors.de';
import * as en from './errors.en';
import { useLanguage, useTexts } from './language';

/** Functions that explain problems in the current language. */
export interface ErrorTexts {
  /** Returns what happened and what to do next. */
  textOf: (error: unknown) => string;
  /** Returns why a field is invalid, as the end of a sentence that begins with its name. */
  fieldTextOf: (error: FieldError) => string;
  /** Returns why a field is invalid, as a text below the field. */
  sentenceOf: (error: FieldError) => string;
}

/** Returns functions that explain problems in the current language. */
export function useErrorTexts(): ErrorTexts {
  const { errorTexts, fieldErrorTexts } = useTexts<typeof en>({ en, de });
  const language = useLanguage();
  const fieldTextOf = ({ code, detail, params = {} }: FieldError) =>
    own(fieldErrorTexts, code)?.replace(/\{(\w+)\}/g, (_, name: string) => String(own(params, name))) ??
    (language === 'de' ? translated(detail) : detail);
  return {
    textOf: (error) =>
      error instanceof ApiProblem
        ? (own(errorTexts, error.code) ?? error.message)
        : (errorTexts['network.unexpected_response'] ?? String(error)),
    fieldTextOf,
    sentenceOf: (error) => {
      const text = fieldTextOf(error).replaceAll('`', '');
      return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
    },
  };
}

/** Returns a detail of the API in German, or in English if it has no German text. */
function translated(detail: string): string {
  const exact = own(german, detail);
  if (exact !== undefined) return exact;
  for (const [from, to] of Object.entries(german)) {
    const [head = '', tail] = from.split('…');
    if (tail !== undefined && detail.startsWith(head) && detail.endsWith(tail))
      return to.replace('…', detail.slice(head.length, detail.length - tail.length));
  }
  return detail;
}
