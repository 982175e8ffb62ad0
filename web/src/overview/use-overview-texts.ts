import { useTexts } from '../texts/language';
import { overviewTexts as de } from './texts.de';
import { overviewTexts as en } from './texts.en';

/** Returns the texts of the overview in the current language. */
export function useOverviewTexts(): typeof en {
  return useTexts({ en, de });
}
