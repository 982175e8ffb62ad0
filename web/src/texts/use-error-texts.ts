import { ApiProblem, type FieldError } from '../api/problems';
import { detailTexts as german } from './details.de';
import * as de from './errors.de';
import * as en from './errors.en';
import { useLanguage, useTexts } from './language';

/** Functions that explain problems in the current language. */
export interface ErrorTexts {
  /** Returns what happened and what to do next. */
  textOf: (error: unknown) => string;
  /** Returns why a field is invalid. */
  fieldTextOf: (error: FieldError) => string;
}

/** Returns functions that explain problems in the current language. */
export function useErrorTexts(): ErrorTexts {
  const { errorTexts, fieldErrorTexts } = useTexts<typeof en>({ en, de });
  const language = useLanguage();
  return {
    textOf: (error) =>
      error instanceof ApiProblem
        ? (errorTexts[error.code] ?? error.message)
        : (errorTexts['network.unexpected_response'] ?? String(error)),
    fieldTextOf: ({ code, detail }) => fieldErrorTexts[code] ?? (language === 'de' ? translated(detail) : detail),
  };
}

/** Returns a detail of the API in German, or in English if it has no German text. */
function translated(detail: string): string {
  const exact = german[detail];
  if (exact !== undefined) return exact;
  for (const [from, to] of Object.entries(german))
    if (from.endsWith('…') && detail.startsWith(from.slice(0, -1)))
      return to.slice(0, -1) + detail.slice(from.length - 1);
  return detail;
}
