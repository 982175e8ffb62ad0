import { useTexts } from '../texts/language';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';

/** Returns the texts of operations in the current language. */
export function useOperationsTexts(): typeof en {
  return useTexts({ en, de });
}
