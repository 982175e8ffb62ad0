import { useTexts } from '../texts/language';
import { mailsTexts as de } from './texts.de';
import { mailsTexts as en } from './texts.en';

/** Returns the texts of mails in the current language. */
export function useMailsTexts(): typeof en {
  return useTexts({ en, de });
}
