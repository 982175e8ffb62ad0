import { useTexts } from '../texts/language';
import { apiKeysTexts as de } from './texts.de';
import { apiKeysTexts as en } from './texts.en';

/** Returns the texts of API keys in the current language. */
export function useApiKeysTexts(): typeof en {
  return useTexts({ en, de });
}
