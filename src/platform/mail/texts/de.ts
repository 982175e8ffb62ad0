import type { MailTexts } from '../mail-name';

/** The mails in German. */
export const de: MailTexts = {
  labels: {
    name: 'Anmeldename',
    carrier: 'Carrier',
    factor: 'Zweiter Faktor',
    codes_left: 'Verbleibende Wiederherstellungscodes',
    keys: 'Gültiger API-Schlüssel',
    suspended_keys: 'Ausgesetzter API-Schlüssel',
    webhook: 'Webhook',
    time: 'Zeitpunkt',
    ip: 'IP-Adresse',
    device: 'Gerät',
    changed_by: 'Geändert durch',
    unknown: 'unbekannt',
    administration: 'Ihre Administration',
    factors: { totp: 'Authenticator-App', passkey: 'Passkey' },
  },
  not_me: {
    button: 'Das war ich nicht',
    paragraphs: [
      'Falls Sie das nicht waren, legen Sie über den folgenden Link ein neues Passwort fest. Der Link ist einmal ' +
        'verwendbar und höchstens {duration} lang gültig. Das neue Passwort beendet auch alle Sitzungen, stellt ' +
        'diese E-Mail-Adresse wieder her und entfernt alle zweiten Faktoren und API-Schlüssel, die seit der ' +
        'ersten E-Mail mit diesem Link hinzugefügt wurden.',
      'Informieren Sie danach Ihre Administration.',
    ],
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
  secured: {
    subject: 'Ihr Konto wurde abgesichert: Wählen Sie ein neues Passwort',
    paragraphs: [
      'Ihre Administration hat Ihr Konto abgesichert, weil möglicherweise jemand anders Ihr Passwort kennt. ' +
        'Das Passwort gilt nicht mehr, und alle Ihre Sitzungen wurden beendet.',
      'Wählen Sie über den folgenden Link ein neues Passwort. Er ist einmal verwendbar und {duration} lang gültig.',
    ],
    button: 'Neues Passwort wählen',
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
  'factor-enrolled': {
    subject: 'Zweiter Faktor hinzugefügt',
    paragraphs: [
      'Zu Ihrem Konto wurde ein zweiter Faktor hinzugefügt. Ab jetzt brauchen Sie zur Anmeldung mit dem Passwort ' +
        'einen Ihrer zweiten Faktoren oder einen Wiederherstellungscode.',
      'Falls Sie das nicht waren, informieren Sie sofort Ihre Administration und legen Sie ein neues Passwort fest.',
    ],
  },
  'factor-removed': {
    subject: 'Zweiter Faktor entfernt',
    paragraphs: [
      'Ein zweiter Faktor Ihres Kontos wurde entfernt. Ihre anderen Sitzungen wurden beendet.',
      'Falls Sie das nicht waren, legen Sie sofort ein neues Passwort fest und informieren Sie Ihre Administration.',
    ],
  },
  'factors-reset': {
    subject: 'Ihre zweiten Faktoren wurden zurückgesetzt',
    paragraphs: [
      'Alle zweiten Faktoren und Wiederherstellungscodes Ihres Kontos wurden entfernt. ' +
        'Ihre Sitzungen wurden beendet.',
      'Richten Sie nach der nächsten Anmeldung einen neuen zweiten Faktor ein.',
      'Falls Sie das nicht veranlasst haben, informieren Sie sofort Ihre Administration.',
    ],
  },
  'recovery-code-used': {
    subject: 'Wiederherstellungscode verwendet',
    paragraphs: [
      'Anstelle eines zweiten Faktors wurde ein Wiederherstellungscode verwendet. Er ist nicht mehr gültig.',
      'Falls Sie das nicht waren, legen Sie sofort ein neues Passwort fest, erzeugen Sie neue ' +
        'Wiederherstellungscodes und informieren Sie Ihre Administration.',
    ],
  },
  'recovery-codes-low': {
    subject: 'Wiederherstellungscode verwendet: erzeugen Sie neue',
    paragraphs: [
      'Anstelle eines zweiten Faktors wurde ein Wiederherstellungscode verwendet. Er ist nicht mehr gültig.',
      'Es sind höchstens zwei Wiederherstellungscodes übrig. Erzeugen Sie rechtzeitig neue.',
      'Falls Sie den Code nicht verwendet haben, legen Sie sofort ein neues Passwort fest, erzeugen Sie neue ' +
        'Wiederherstellungscodes und informieren Sie Ihre Administration.',
    ],
  },
  'recovery-codes-renewed': {
    subject: 'Neue Wiederherstellungscodes erzeugt',
    paragraphs: [
      'Für Ihr Konto wurden neue Wiederherstellungscodes erzeugt. Die alten sind nicht mehr gültig.',
      'Falls Sie das nicht waren, informieren Sie sofort Ihre Administration und legen Sie ein neues Passwort fest.',
    ],
  },
  'passkey-counter': {
    subject: 'Ein Passkey Ihres Kontos wurde abgelehnt',
    paragraphs: [
      'Ein Passkey Ihres Kontos wurde abgelehnt, weil sein Signaturzähler niedriger ist als zuvor. ' +
        'Er wurde möglicherweise kopiert.',
      'Entfernen Sie den Passkey und richten Sie einen neuen ein. Falls Sie den Passkey nicht verwendet haben, ' +
        'informieren Sie sofort Ihre Administration.',
    ],
  },
  'second-step-missing': {
    subject: 'Eine Anmeldung wurde nicht abgeschlossen',
    paragraphs: [
      'Das richtige Passwort Ihres Kontos wurde eingegeben, der zweite Schritt der Anmeldung blieb aus. ' +
        'Die Anmeldung wurde nicht abgeschlossen.',
      'Falls Sie das nicht waren, kennt jemand Ihr Passwort. Legen Sie sofort ein neues Passwort fest.',
    ],
  },
  'new-address-login': {
    subject: 'Anmeldung von einer neuen Adresse',
    paragraphs: [
      'Bei Ihrem Konto gab es eine Anmeldung von einer IP-Adresse, die in den letzten 30 Tagen nicht dafür ' +
        'verwendet wurde.',
      'Falls Sie das nicht waren, legen Sie sofort ein neues Passwort fest und informieren Sie Ihre Administration. ' +
        'Ein neues Passwort beendet Ihre anderen Sitzungen.',
    ],
  },
  'webhook-disabled': {
    subject: 'Ein Webhook wurde deaktiviert',
    paragraphs: [
      'Ein Webhook, den Sie angelegt haben, wurde deaktiviert. Sein Ziel hat mit 410 geantwortet oder drei Tage lang ' +
        'keine Anfrage angenommen, oder Sie dürfen nicht mehr lesen, was der Webhook sendet. Er sendet keine ' +
        'Änderungen mehr an das Ziel.',
      'Die Liste der Webhooks zeigt den Grund. Aktivieren Sie den Webhook dort, um fortzufahren, wo er aufgehört hat.',
    ],
  },
  'enrollment-code': {
    subject: 'Ihr Code für den zweiten Faktor',
    paragraphs: [
      'Geben Sie diesen Code ein, um einen zweiten Faktor für Ihr Konto einzurichten:',
      '{code}',
      'Der Code ist {duration} lang gültig. Geben Sie ihn nicht weiter.',
      'Falls Sie sich nicht angemeldet haben, kennt jemand Ihr Passwort. Legen Sie sofort ein neues Passwort fest.',
    ],
  },
  test: {
    subject: 'Test-E-Mail',
    paragraphs: [
      'Diese E-Mail prüft den Mailserver. Wenn Sie sie lesen können, kommen E-Mails dieses Dienstes bei Ihnen an.',
    ],
  },
};
