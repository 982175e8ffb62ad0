import { useTexts } from '../texts/language';
import { accountTexts as de } from './texts.de';
import { accountTexts as en } from './texts.en';

/** Returns the texts of the user's own pages in the current language. */
export function useAccountTexts(): typeof en {
  return useTexts({ en, de });
}
