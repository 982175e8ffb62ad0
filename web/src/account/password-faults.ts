import type { FieldError } from '../api/problems';
import { own } from '../own';
import { useErrorTexts } from '../texts/use-error-texts';
import { useAccountTexts } from './use-account-texts';

/** Why the service rejected a password, with hints for a better one. */
export interface PasswordFault {
  text: string;
  hints: string[];
}

/** Returns a function that explains why a password was rejected. */
export function usePasswordFaults(): (fault: FieldError | undefined) => PasswordFault | null {
  const texts = useAccountTexts();
  const { sentenceOf } = useErrorTexts();
  return (fault) => {
    if (fault === undefined) return null;
    const hints = (fault.hints ?? []).map((key) => own(texts.hints, key)).filter((text) => text !== undefined);
    return { text: sentenceOf(fault), hints: [...new Set(hints)] };
  };
}
