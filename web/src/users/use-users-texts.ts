import { useTexts } from '../texts/language';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';

/** Returns the texts of users in the current language. */
export function useUsersTexts(): typeof en {
  return useTexts({ en, de });
}
