import { pluralIn } from '../texts/plural';
import type { mailsTexts as en } from './texts.en';

const plural = pluralIn('de');

/** Texte der Seite über E-Mails. */
export const mailsTexts: typeof en = {
  title: 'Nicht gesendete E-Mails',
  description:
    'E-Mails an Benutzer, die auf den Versand warten, erneut versucht werden oder fehlgeschlagen sind. ' +
    'Fehlgeschlagene E-Mails werden nur erneut gesendet, wenn Sie es anfordern.',
  fields: {
    mail_id: 'E-Mail-ID',
    kind: 'E-Mail',
    state: 'Status',
    failing: 'Zweimal fehlgeschlagen oder abgelehnt',
    user_id: 'Benutzer',
    carrier_id: 'Carrier',
    recipient: 'Empfänger',
    last_error: 'Letzter Fehler',
    created_at: 'Angefordert',
    next_attempt_at: 'Nächster Versuch',
  },
  kinds: {
    invitation: 'Einladung',
    reset: 'Passwort zurücksetzen',
    'email-confirmation': 'Bestätigung einer Adresse',
    'enrollment-code': 'Einrichtungscode',
    'password-changed': 'Passwort geändert',
    'email-change-notice': 'Hinweis auf neue Adresse',
    'token-reuse': 'Refresh-Token wiederverwendet',
    'factor-enrolled': 'Zweiter Faktor eingerichtet',
    'factor-removed': 'Zweiter Faktor entfernt',
    'factors-reset': 'Zweite Faktoren zurückgesetzt',
    'recovery-code-used': 'Wiederherstellungscode verwendet',
    'recovery-codes-low': 'Wenige Wiederherstellungscodes übrig',
    'recovery-codes-renewed': 'Wiederherstellungscodes erneuert',
    'passkey-counter': 'Passkey möglicherweise kopiert',
    'second-step-missing': 'Zweiter Schritt fehlt',
    'new-address-login': 'Anmeldung von neuer Adresse',
    'webhook-disabled': 'Webhook deaktiviert',
    secured: 'Konto abgesichert',
  },
  states: {
    waiting: 'Wartet',
    retrying: 'Wird erneut versucht',
    sending: 'Wird gesendet',
    failed: 'Fehlgeschlagen',
    sent: 'Gesendet',
  },
  attempts: (count) => plural(count, '# Versuch', '# Versuche'),
  noError: 'keiner',
  noAttempt: 'keiner geplant',
  retry: 'Erneut senden',
  retryOf: (kind, recipient) => `Erneut senden: ${kind} an ${recipient}`,
  retried: 'Die E-Mail wird in wenigen Sekunden erneut gesendet.',
  empty: 'Alle E-Mails sind gesendet',
  emptyHint: 'Wartende und fehlgeschlagene E-Mails stehen hier. Die Übersicht zählt die fehlgeschlagenen.',
};
