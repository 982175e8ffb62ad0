import { useTexts } from '../texts/language';
import { rolesTexts as de } from './texts.de';
import { rolesTexts as en } from './texts.en';

/** Returns the texts of roles in the current language. */
export function useRolesTexts(): typeof en {
  return useTexts({ en, de });
}
