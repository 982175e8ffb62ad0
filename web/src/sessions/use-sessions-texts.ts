import { useTexts } from '../texts/language';
import { sessionsTexts as de } from './texts.de';
import { sessionsTexts as en } from './texts.en';

/** Returns the texts of sessions in the current language. */
export function useSessionsTexts(): typeof en {
  return useTexts({ en, de });
}
