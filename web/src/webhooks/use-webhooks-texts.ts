import { useTexts } from '../texts/language';
import { webhooksTexts as de } from './texts.de';
import { webhooksTexts as en } from './texts.en';

/** Returns the texts of webhooks in the current language. */
export function useWebhooksTexts(): typeof en {
  return useTexts({ en, de });
}
