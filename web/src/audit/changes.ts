import { useMailsTexts } from '../mails/use-mails-texts';
import { own } from '../own';
import { useSessionsTexts } from '../sessions/use-sessions-texts';
import { useFormats } from '../texts/formats';
import { timeOf } from '../texts/time-of';
import { useShellTexts } from '../texts/use-shell-texts';
import { useAuditTexts } from './use-audit-texts';

/** The change of a field, with its values as text. */
export interface FieldChange {
  key: string;
  /** name of the field */
  name: string;
  /** null if the event records no previous value, such as a failed login */
  before: string | null;
  after: string | null;
}

const timeFields = new Set([
  'deleted_at',
  'expires_at',
  'locked_until',
  'password_changed_at',
  'second_factor_required_from',
  'signs_from',
]);

/** Returns a function that formats the changes of an event as text. */
export function useChanges(): (changes: Record<string, unknown>) => FieldChange[] {
  const texts = useAuditTexts();
  const mails = useMailsTexts();
  const sessions = useSessionsTexts();
  const { values } = texts;
  const { yes, no } = useShellTexts().filter;
  const { number, second } = useFormats();
  // Texts of fields with fixed values. Other fields contain texts of users, which stay as recorded.
  const fixed: Record<string, Record<string, string>> = {
    status: values,
    user_type: values,
    user_types: values,
    kind: { ...mails.kinds, ...values },
    kinds: values,
    reason: texts.reasons,
    ended_reason: sessions.reason,
  };
  const write = (value: unknown, field = ''): string => {
    if (value === null || value === undefined || value === '') return values.empty;
    if (typeof value === 'boolean') return value ? yes : no;
    if (typeof value === 'number') return number.format(value);
    if (Array.isArray(value))
      return value.length === 0 ? values.empty : value.map((one) => write(one, field)).join(', ');
    if (typeof value === 'object') {
      const entries = Object.entries(value);
      return entries.length === 0 ? values.empty : entries.map(([key, one]) => `${key}: ${write(one)}`).join(', ');
    }
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const stated = timeFields.has(field) ? timeOf(text) : null;
    return stated === null ? (own(own(fixed, field) ?? {}, text) ?? text) : second.format(stated);
  };
  return (changes) =>
    Object.entries(changes).map(([key, change]) => {
      const sides =
        typeof change === 'object' && change !== null ? (change as Record<string, unknown>) : { after: change };
      const side = (name: 'before' | 'after') => {
        if (!(name in sides)) return null;
        return key === 'carrier_scope' && sides[name] === null ? values.allCarriers : write(sides[name], key);
      };
      return { key, name: own(texts.keys, key) ?? key, before: side('before'), after: side('after') };
    });
}
