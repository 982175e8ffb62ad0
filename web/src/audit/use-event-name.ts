import { own } from '../own';
import { useTexts } from '../texts/language';
import { auditTexts as de } from './texts.de';
import { auditTexts as en } from './texts.en';

/** Returns a function that names an event type. Unknown types of later versions keep their code. */
export function useEventName(): (type: string) => string {
  const { types } = useTexts({ en, de });
  return (type) => own(types, type) ?? type;
}

/** Returns a function that says why a login failed, by the reason in the audit log. */
export function useFailureReason(): (code: string) => string {
  const { reasons } = useTexts({ en, de });
  return (code) => own(reasons, code) ?? code;
}
