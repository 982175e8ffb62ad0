import { useTexts } from '../texts/language';
import { attacksTexts as de } from './texts.de';
import { attacksTexts as en } from './texts.en';

/** Returns the texts of the page of attacks in the current language. */
export function useAttacksTexts(): typeof en {
  return useTexts({ en, de });
}
