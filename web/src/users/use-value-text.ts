import { exactTime } from '../components/time-text';
import { own } from '../own';
import { useLanguage } from '../texts/language';
import { timeOf } from '../texts/time-of';
import { useShellTexts } from '../texts/use-shell-texts';
import { useUsersTexts } from './use-users-texts';

/** Returns a function that formats the value of a field as text, such as "yes" or "c1, c2". */
export function useValueText(): (field: string, value: unknown) => string {
  const texts = useUsersTexts();
  const { yes, no } = useShellTexts().filter;
  const language = useLanguage();
  const choices: Record<string, Record<string, string>> = {
    status: texts.status,
    user_type: texts.userType,
  };
  const textOf = (field: string, value: unknown): string => {
    if (field === 'carrier_scope' && value === null) return texts.allCarriers;
    if (value === null || value === undefined || value === '') return texts.noValue;
    if (typeof value === 'boolean') return value ? yes : no;
    if (Array.isArray(value)) return value.length === 0 ? texts.none : value.map((one) => textOf('', one)).join(', ');
    if (typeof value === 'object') return Object.keys(value).length === 0 ? texts.none : JSON.stringify(value);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const time = field === 'second_factor_required_from' ? timeOf(text) : null;
    return time === null ? (own(own(choices, field) ?? {}, text) ?? text) : exactTime(time, language);
  };
  return textOf;
}
