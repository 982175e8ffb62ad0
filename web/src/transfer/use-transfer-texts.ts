import { useTexts } from '../texts/language';
import { transferTexts as de } from './texts.de';
import { transferTexts as en } from './texts.en';

/** Returns the texts of imports and exports in the current language. */
export function useTransferTexts(): typeof en {
  return useTexts({ en, de });
}
