import { useTexts } from '../texts/language';
import { permissionTexts as de } from './texts.de';
import { permissionTexts as en } from './texts.en';

/** Returns the texts of permissions in the current language. */
export function usePermissionTexts(): typeof en {
  return useTexts({ en, de });
}
