import type { MailTexts } from '../mail-name';

/** The mails in German. */
export const de: MailTexts = {
  invitation: {
    subject: 'Ihre Einladung',
    paragraphs: [
      'Für diese E-Mail-Adresse wurde ein Zugang angelegt.',
      'Setzen Sie Ihr Passwort über den Link. Er gilt einmal, {duration} lang.',
    ],
    button: 'Passwort setzen',
  },
  reset: {
    subject: 'Neues Passwort setzen',
    paragraphs: [
      'Jemand, wahrscheinlich Sie, möchte ein neues Passwort setzen.',
      'Der Link gilt einmal, {duration} lang. Waren Sie es nicht, tun Sie nichts: Ihr Passwort bleibt, wie es ist.',
    ],
    button: 'Neues Passwort setzen',
  },
  'password-changed': {
    subject: 'Ihr Passwort wurde geändert',
    paragraphs: [
      'Das Passwort Ihres Zugangs wurde geändert, Ihre anderen Sitzungen wurden beendet.',
      'Waren Sie es nicht, setzen Sie sofort ein neues Passwort und sagen Sie es Ihrer Verwaltung.',
    ],
  },
  'email-confirmation': {
    subject: 'E-Mail-Adresse bestätigen',
    paragraphs: [
      'Diese Adresse wurde als neue Adresse eines Zugangs vorgeschlagen.',
      'Der Link bestätigt sie. Er gilt einmal, {duration} lang. Wissen Sie davon nichts, tun Sie nichts.',
    ],
    button: 'Adresse bestätigen',
  },
  'email-change-notice': {
    subject: 'Eine neue E-Mail-Adresse wurde vorgeschlagen',
    paragraphs: [
      'Für Ihren Zugang wurde eine andere E-Mail-Adresse vorgeschlagen. Sie gilt, sobald sie bestätigt ist; bis dahin bleibt alles, wie es ist.',
      'Waren Sie es nicht, setzen Sie ein neues Passwort und sagen Sie es Ihrer Verwaltung.',
    ],
  },
  'token-reuse': {
    subject: 'Eine Sitzung wurde zu Ihrer Sicherheit beendet',
    paragraphs: [
      'Ein verbrauchtes Token einer Ihrer Sitzungen kam zurück. Es könnte kopiert worden sein, darum wurde die Sitzung beendet.',
      'Melden Sie sich neu an. Geschieht das öfter, ändern Sie Ihr Passwort und sagen Sie es Ihrer Verwaltung.',
    ],
  },
};
