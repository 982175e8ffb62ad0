import type { MailTexts } from '../mail-name';

/** The mails in German. */
export const de: MailTexts = {
  labels: {
    name: 'Anmeldename',
    carrier: 'Carrier',
    time: 'Zeitpunkt',
    ip: 'IP-Adresse',
    device: 'Gerät',
    changed_by: 'Geändert durch',
    unknown: 'unbekannt',
    administration: 'Ihre Administration',
  },
  invitation: {
    subject: 'Ihre Einladung',
    paragraphs: [
      'Für diese E-Mail-Adresse wurde ein Konto angelegt.',
      'Legen Sie Ihr Passwort über den folgenden Link fest. Er ist einmal verwendbar und {duration} lang gültig.',
    ],
    button: 'Passwort festlegen',
  },
  reset: {
    subject: 'Neues Passwort festlegen',
    paragraphs: [
      'Für Ihr Konto wurde ein neues Passwort angefordert.',
      'Der folgende Link ist einmal verwendbar und {duration} lang gültig.',
      'Falls Sie das nicht waren, können Sie diese E-Mail ignorieren. Ihr Passwort bleibt unverändert.',
    ],
    button: 'Neues Passwort festlegen',
  },
  'password-changed': {
    subject: 'Ihr Passwort wurde geändert',
    paragraphs: [
      'Das Passwort Ihres Kontos wurde geändert. Ihre anderen Sitzungen wurden beendet.',
      'Falls Sie das nicht waren, legen Sie sofort ein neues Passwort fest und informieren Sie Ihre Administration.',
    ],
  },
  'email-confirmation': {
    subject: 'E-Mail-Adresse bestätigen',
    paragraphs: [
      'Diese Adresse wurde als neue E-Mail-Adresse eines Kontos angegeben.',
      'Bestätigen Sie sie über den folgenden Link. Er ist einmal verwendbar und {duration} lang gültig.',
      'Falls Sie das nicht waren, können Sie diese E-Mail ignorieren.',
    ],
    button: 'Adresse bestätigen',
  },
  'email-change-notice': {
    subject: 'Neue E-Mail-Adresse angegeben',
    paragraphs: [
      'Für Ihr Konto wurde eine neue E-Mail-Adresse angegeben. Sie gilt, sobald sie bestätigt ist.',
      'Falls Sie das nicht waren, legen Sie ein neues Passwort fest und informieren Sie Ihre Administration.',
    ],
  },
  'token-reuse': {
    subject: 'Eine Sitzung wurde aus Sicherheitsgründen beendet',
    paragraphs: [
      'Ein Token einer Ihrer Sitzungen wurde zweimal verwendet. Es wurde möglicherweise kopiert. ' +
        'Deshalb wurde die Sitzung beendet.',
      'Melden Sie sich erneut an. Falls das öfter vorkommt, ändern Sie Ihr Passwort ' +
        'und informieren Sie Ihre Administration.',
    ],
  },
  test: {
    subject: 'Test-E-Mail',
    paragraphs: [
      'Diese E-Mail prüft den Mailserver. Wenn Sie sie lesen können, kommen E-Mails dieses Dienstes bei Ihnen an.',
    ],
  },
};
