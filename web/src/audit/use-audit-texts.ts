import { useTexts } from '../texts/language';
import { auditTexts as de } from './texts.de';
import { auditTexts as en } from './texts.en';

/** Returns the texts of the audit log in the current language. */
export function useAuditTexts(): typeof en {
  return useTexts({ en, de });
}
