import { useTexts } from './language';
import { shellTexts as de } from './shell.de';
import { shellTexts as en } from './shell.en';

/** Returns the texts of the frame and the shared components in the current language. */
export function useShellTexts(): typeof en {
  return useTexts({ en, de });
}
