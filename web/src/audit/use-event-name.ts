import { own } from '../own';
import { useAuditTexts } from './use-audit-texts';

/** Returns a function that names an event type. Unknown types of later versions keep their code. */
export function useEventName(): (type: string) => string {
  const { types } = useAuditTexts();
  return (type) => own(types, type) ?? type;
}

/** Returns a function that says why a login failed, by the reason in the audit log. */
export function useFailureReason(): (code: string) => string {
  const { reasons } = useAuditTexts();
  return (code) => own(reasons, code) ?? code;
}
