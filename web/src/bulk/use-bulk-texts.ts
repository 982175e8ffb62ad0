import { useTexts } from '../texts/language';
import { bulkTexts as de } from './texts.de';
import { bulkTexts as en } from './texts.en';

/** Returns the texts of bulk changes in the current language. */
export function useBulkTexts(): typeof en {
  return useTexts({ en, de });
}
