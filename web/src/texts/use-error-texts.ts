import { ApiProblem, type FieldError } from '../api/problems';
import { own } from '../own';
import { codeTexts, detailTexts, limitTexts, unitTexts } from './details.de';
import * as de from './errors.de';
import * as en from './errors.en';
import { useLanguage, useTexts } from './language';

/** Limits of a value, and the unit that they count. */
interface Limits {
  min?: number;
  max?: number;
  unit?: string;
}

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
  const fieldTextOf = (error: FieldError) =>
    filled(own(fieldErrorTexts, error.code), error.params) ?? (language === 'de' ? translated(error) : error.detail);
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

/** Returns a text with the values of an error. */
function filled(text: string | undefined, params: FieldError['params'] = {}): string | undefined {
  return text?.replace(/\{(\w+)\}/g, (_, name: string) => [own(params, name)].flat().join(', '));
}

/** Returns a German text for the detail, the limits or, if they have none, the code of an error. */
function translated({ code, detail, params = {} }: FieldError): string {
  const [place, line, column] = /^line (\d+)(?:, column (\d+))?: /.exec(detail) ?? [];
  if (place !== undefined) {
    const at = column === undefined ? `Zeile ${line}` : `Zeile ${line}, Spalte ${column}`;
    const others = Object.entries(params).filter(([name]) => name !== 'line' && name !== 'column');
    return `${at}: ${translated({ code, detail: detail.slice(place.length), params: Object.fromEntries(others) })}`;
  }
  const names = ['min', 'max', 'unit', 'allowed', 'reason'];
  const given = names.filter((name) => own(params, name) !== undefined).join(' ');
  const limit = own(limitTexts, given) ?? own(limitTexts, given.replace(' unit', ''));
  const { min, max, unit = /too_(short|long)$/.test(code) ? 'characters' : 'items' } = params as Limits;
  const counted = unit === 'items' && [min, max].includes(1) ? 'item' : unit;
  const limited = filled(limit, { ...params, unit: own(unitTexts, counted) ?? unit });
  return own(detailTexts, detail) ?? limited ?? own(codeTexts, code) ?? detail;
}
