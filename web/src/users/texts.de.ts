import { pluralIn } from '../texts/plural';
import { fieldLabels } from './fields';
import { cause, type usersTexts as en } from './texts.en';

const plural = pluralIn('de');

/** Texte der Seiten über Benutzer. */
export const usersTexts: typeof en = {
  title: 'Benutzer',
  search: 'Benutzer suchen',
  fields: {
    ...fieldLabels.de,
    q: 'Suche',
    role: 'Rolle',
    online: 'Online',
    has_second_factor: 'Hat einen zweiten Faktor',
    must_enroll_second_factor: 'Muss einen zweiten Faktor einrichten',
  },
  status: { invited: 'Eingeladen', active: 'Aktiv', disabled: 'Deaktiviert' },
  userType: { carrier: 'Carrier-Benutzer', system: 'System-Benutzer' },
  views: { label: 'Anzeigen', all: 'Alle', other: 'Andere' },
  deleted: 'Gelöscht',
  locked: 'Gesperrt',
  online: 'Online',
  noRoles: 'Keine Rollen',
  none: 'keine',
  noValue: 'leer',
  allCarriers: 'alle Carrier',
  copyId: 'Benutzer-ID kopieren',
  empty: {
    title: 'Noch keine Benutzer',
    hint: 'Legen Sie den ersten Benutzer an, oder importieren Sie Benutzer aus einer Datei.',
  },
  selection: {
    label: 'Ausgewählte Benutzer',
    count: (count) => plural(count, '# Benutzer ausgewählt', '# Benutzer ausgewählt'),
    change: 'Ausgewählte ändern',
    changeMatching: 'Alle Treffer ändern',
    changeAll: 'Viele ändern',
    tooMany: (max) => `Es lassen sich höchstens ${max} ausgewählte Benutzer ändern. Verwenden Sie einen Filter.`,
    clear: 'Auswahl aufheben',
  },
  create: {
    open: 'Benutzer anlegen',
    title: 'Benutzer anlegen',
    optional: (label) => `${label} (optional)`,
    clearRoles: 'Alle Rollen entfernen',
    access: 'Erste Anmeldung',
    invite: 'Per E-Mail einladen',
    inviteHint: 'Der Benutzer erhält einen Link und wählt selbst ein Passwort.',
    password: 'Erstpasswort vergeben',
    passwordHint:
      'Sie übergeben das Passwort. Der Benutzer muss es bei der ersten Anmeldung ändern, innerhalb von 7 Tagen.',
    initialPassword: 'Erstpasswort',
    newCarrier: 'Neuer Carrier: Er hat noch keine Benutzer.',
    submitInvite: 'Anlegen und einladen',
    submit: 'Benutzer anlegen',
    invited: (email) => `Eine Einladung an ${email} ist unterwegs.`,
    created: (name) => `${name} wurde angelegt.`,
  },
  tabs: {
    overview: 'Übersicht',
    data: 'Daten',
    roles: 'Rollen',
    sessions: 'Sitzungen',
    factors: 'Zweite Faktoren',
    history: 'Verlauf',
    login: 'Anmeldung prüfen',
  },
  overview: {
    account: 'Konto',
    sessions: 'Aktive Sitzungen',
    lastUsed: 'zuletzt verwendet',
    noSessions: 'Nicht angemeldet',
    factors: 'Zweite Faktoren',
    noFactors: 'Keine',
    mustEnroll: 'Muss bei der nächsten Anmeldung eingerichtet werden',
    unconfirmed: (email) => `${email} ist noch nicht bestätigt`,
    noRights: 'Ohne Rollen kann sich der Benutzer nur anmelden.',
    more: (count) => `${count} weitere`,
    actions: 'Aktionen dieses Benutzers',
    edit: 'Bearbeiten',
  },
  edit: {
    person: 'Person',
    login: 'Anmeldung',
    access: 'Zugang',
    emailHint: 'Eine neue Adresse gilt, sobald der Benutzer sie über den zugesendeten Link bestätigt.',
    emailPending: (email) => `Wartet auf die Bestätigung von ${email}.`,
    allowedIpsHint:
      'Adressen oder Netze, aus denen sich der Benutzer anmelden darf, zum Beispiel 192.0.2.0/24. ' +
      'Leer lassen, um alle Adressen zu erlauben.',
    allCarriers: 'Darf mit allen Carriern arbeiten',
    carrierScopeHint: 'Carrier, mit denen der Benutzer arbeiten darf',
    secondFactorHint: 'Leer lassen, wenn die Rollen des Benutzers es bestimmen.',
    attributesHint: 'Eigene Daten als JSON-Objekt',
    attributesInvalid: 'muss ein JSON-Objekt sein, etwa {"tier": "gold"}',
  },
  roles: { label: 'Rollen', hint: 'Änderungen gelten ab der nächsten Anfrage des Benutzers.' },
  sessions: {
    empty: 'Keine aktiven Sitzungen',
    emptyHint: 'Der Benutzer ist nirgends angemeldet.',
  },
  factors: {
    kind: { totp: 'Authenticator-App', passkey: 'Passkey' },
    empty: 'Kein zweiter Faktor',
    emptyHint: 'Der Benutzer meldet sich nur mit dem Passwort an.',
    mustEnroll: 'Ein zweiter Faktor ist erforderlich. Der Benutzer muss ihn bei der nächsten Anmeldung einrichten.',
    recoveryCodes: (count) => plural(count, 'Noch # Wiederherstellungscode', 'Noch # Wiederherstellungscodes'),
    unconfirmed: 'nicht bestätigt',
    added: 'eingerichtet',
    used: 'verwendet',
    reset: 'Zweite Faktoren zurücksetzen',
  },
  history: {
    empty: 'Noch nichts aufgezeichnet',
    more: 'Ältere Einträge anzeigen',
    by: 'von',
    byKey: 'über einen API-Schlüssel',
    bySystem: 'vom Dienst',
  },
  check: {
    details: 'Details anzeigen',
    blocked: 'Der Benutzer kann sich nicht anmelden',
    restricted: 'Der Benutzer kann sich mit einer Einschränkung anmelden',
    fine: {
      title: 'Nichts verhindert diese Anmeldung',
      text:
        'Wenn die Anmeldung nicht gelingt, ist wahrscheinlich das Passwort falsch. ' +
        'Senden Sie einen Link für ein neues Passwort.',
      wrongPassword:
        'Die letzten Anmeldungen sind fehlgeschlagen, wahrscheinlich wegen eines falschen Passworts. ' +
        'Senden Sie einen Link für ein neues Passwort.',
    },
    editData: 'Daten ändern',
    correct: 'Adresse korrigieren',
    correctInvited: 'An diese Adresse geht eine neue Einladung. Der Link in der älteren wird ungültig.',
    correctActive: 'Der Benutzer bestätigt diese Adresse über einen Link. Bis dahin gilt die alte Adresse.',
    correctAndSend: 'Speichern und senden',
    confirming: (email) => `Ein Link zur Bestätigung von ${email} ist unterwegs.`,
    allow: (ip) => `${ip} erlauben`,
    allowed: (ip) => `Der Benutzer darf sich jetzt auch von ${ip} anmelden.`,
    unblock: 'Sperre aufheben',
    unblocked: (network) => `${network} ist nicht mehr gesperrt.`,
    mails: 'Letzte E-Mails',
    noMails: 'Keine E-Mail wartet auf den Versand, und kein zugesendeter Link ist offen.',
    answer: (text) => `Antwort des Mailservers: ${text}`,
    mailFailed: (text) => `Die letzte E-Mail wurde nicht zugestellt: ${text}`,
    refusals: 'Letzte abgelehnte Anmeldungen',
    noRefusals: 'Keine abgelehnten Anmeldungen aufgezeichnet.',
    despite: 'Mit einem Passkey kann sich der Benutzer trotzdem anmelden.',
    bulk: 'mit einer Massenänderung',
    hiddenActor: 'einem Benutzer, den Sie nicht sehen dürfen',
    until: 'Endet',
    since: {
      deleted: 'Gelöscht',
      disabled: 'Deaktiviert',
      locked: 'Gesperrt',
      codes_locked: 'Gesperrt',
      invited: 'Eingeladen',
      invitation_expired: 'Abgelaufen',
      password_voided: 'Gesichert',
      password_expired: 'Abgelaufen',
      address_not_allowed: 'Versucht',
      address_blocked: 'Gesperrt',
      other: 'Seit',
    },
    causes: {
      deleted: cause(
        'Der Benutzer ist gelöscht',
        () => 'Gelöschte Benutzer können sich nicht anmelden. Stellen Sie den Benutzer wieder her.',
      ),
      disabled: cause(
        'Der Benutzer ist deaktiviert',
        () => 'Finden Sie heraus, warum, bevor Sie den Benutzer aktivieren.',
      ),
      locked: cause(
        'Das Konto ist gesperrt',
        ({ failures = 0, unknown_addresses, addresses = [], ip }) =>
          `${failures} falsche Passwörter in Folge${ip === undefined ? '' : `, das letzte von ${ip}`}. ` +
          (unknown_addresses === true
            ? 'Gesperrt für alle Adressen, von denen sich der Benutzer in den letzten 30 Tagen nicht angemeldet hat. '
            : `Gesperrt für ${addresses.join(', ')}. `) +
          'Entsperren Sie das Konto, oder senden Sie einen Link für ein neues Passwort.',
        true,
      ),
      codes_locked: cause(
        'Der zweite Faktor ist gesperrt',
        ({ failures = 0 }) =>
          `${failures} falsche Codes in Folge. Wiederherstellungscodes funktionieren weiterhin. Entsperren Sie den ` +
          'Benutzer, oder setzen Sie die zweiten Faktoren zurück, wenn das Gerät verloren ist.',
        true,
      ),
      invited: cause('Der Benutzer hat noch kein Passwort festgelegt', ({ invitation }) =>
        invitation === 'none'
          ? 'Er wurde nie eingeladen, etwa weil ein Import keine Einladungen gesendet hat. Senden Sie jetzt eine.'
          : 'Bitten Sie ihn, die Einladung zu suchen, oder senden Sie eine neue.',
      ),
      invitation_expired: cause(
        'Die Einladung ist abgelaufen',
        () => 'Der Benutzer hat nicht rechtzeitig ein Passwort festgelegt. Senden Sie eine neue Einladung.',
      ),
      password_voided: cause(
        'Der Benutzer muss ein neues Passwort wählen',
        () => 'Das Konto wurde abgesichert, und das alte Passwort gilt nicht mehr. Der Link steht in der E-Mail.',
        true,
      ),
      password_expired: cause(
        'Das Erstpasswort ist abgelaufen',
        () => 'Es wurde nicht innerhalb von 7 Tagen verwendet. Senden Sie einen Link für ein neues Passwort.',
        true,
      ),
      address_not_allowed: cause(
        'Die letzte Anmeldung kam von einer nicht erlaubten Adresse',
        ({ ip = '', allowed_ips = [] }) =>
          `Das Passwort war richtig, aber die Anmeldung kam von ${ip}. Erlaubt: ${allowed_ips.join(', ')}. ` +
          'Erlauben Sie die Adresse, wenn Sie ihr vertrauen.',
      ),
      address_blocked: cause(
        'Eine Adresse des Benutzers ist gesperrt',
        ({ ip = '', network = 'diese Adresse' }) =>
          `Anmeldungen von ${ip} werden abgelehnt, weil ${network} gesperrt ist.`,
      ),
      password_change_required: cause(
        'Das Passwort muss geändert werden',
        () => 'Der Benutzer muss ein neues Passwort wählen, bevor er weiterarbeiten kann.',
      ),
      second_factor_enrollment_required: cause(
        'Ein erforderlicher zweiter Faktor fehlt',
        () => 'Der Benutzer muss einen zweiten Faktor einrichten, bevor er weiterarbeiten kann.',
      ),
    },
  },
  secure: {
    factors: 'Zweite Faktoren',
    factorsHint: 'Einer davon gehört vielleicht dem Fremden. Wählen Sie aus, welche entfernt werden.',
    factorsKept: 'Sie bleiben erhalten. Zum Entfernen brauchen Sie die Berechtigung user:reset_factors.',
    remove: (name) => `${name} entfernen`,
    keys: 'API-Schlüssel, die der Benutzer erstellt hat',
    keysUnknown: 'Falls der Benutzer welche erstellt hat.',
    suspendKeys: 'Aussetzen, bis sie einzeln wieder zugelassen werden',
    keepKeys: 'Weiter zulassen',
  },
  actions: {
    menu: (name) => `Aktionen für ${name}`,
    invite: action('Einladung senden', (name) => `Eine neue Einladung an ${name} ist unterwegs.`),
    resetMail: action('Passwort-Link senden', (name) => `Ein Link für ein neues Passwort an ${name} ist unterwegs.`),
    unlock: action('Entsperren', (name) => `${name} ist entsperrt.`),
    enable: action('Aktivieren', (name) => `${name} ist aktiviert.`),
    restore: action('Wiederherstellen', (name) => `${name} ist wiederhergestellt.`),
    endSessions: action('Alle Sitzungen beenden', (name) => `Die Sitzungen von ${name} wurden beendet.`, {
      title: 'Alle Sitzungen beenden?',
      question: (name) => `${name} wird auf allen Geräten abgemeldet. Dort nicht gespeicherte Eingaben gehen verloren.`,
      confirm: 'Sitzungen beenden',
    }),
    resetFactors: action(
      'Zweite Faktoren zurücksetzen',
      (name) => `Die zweiten Faktoren von ${name} wurden entfernt.`,
      {
        title: 'Zweite Faktoren zurücksetzen?',
        question: (name) =>
          `Alle zweiten Faktoren und Wiederherstellungscodes von ${name} werden entfernt, und alle Sitzungen enden. ` +
          'Der Benutzer wird per E-Mail benachrichtigt. ' +
          'Stellen Sie vorher sicher, dass die Bitte wirklich von ihm kommt.',
        confirm: 'Zurücksetzen',
      },
    ),
    secure: action('Konto absichern', (name) => `Das Konto von ${name} ist abgesichert. Ein Link ist unterwegs.`, {
      title: 'Konto absichern?',
      question: (name) =>
        'Für ein Konto, dessen Passwort jemand anders kennen könnte. Passwort, verschickte Links und eine ' +
        `vorgeschlagene Adresse von ${name} werden ungültig, und alle Sitzungen enden. ` +
        'Der Benutzer erhält einen Link, um ein neues Passwort zu wählen.',
      confirm: 'Konto absichern',
    }),
    disable: action('Deaktivieren', (name) => `${name} ist deaktiviert.`, {
      title: 'Benutzer deaktivieren?',
      question: (name) =>
        `${name} kann sich nicht mehr anmelden, und alle Sitzungen enden. Sie können den Benutzer wieder aktivieren.`,
      confirm: 'Deaktivieren',
    }),
    purge: action('Endgültig löschen', (name) => `${name} wurde endgültig gelöscht.`, {
      title: 'Benutzer endgültig löschen?',
      question: (name) =>
        `${name} und die persönlichen Daten im Protokoll werden gelöscht. ` +
        'Das lässt sich nicht rückgängig machen: Der Benutzer lässt sich nicht wiederherstellen.',
      confirm: 'Endgültig löschen',
    }),
    delete: action(
      'Löschen',
      (name) => `${name} wurde gelöscht. Gelöschte Benutzer finden Sie in der Liste unter „Gelöscht“.`,
      {
        title: 'Benutzer löschen?',
        question: (name) =>
          `${name} kann sich nicht mehr anmelden, alle Sitzungen enden, und Name und E-Mail-Adresse werden frei. ` +
          'Sie können den Benutzer später wiederherstellen.',
        confirm: 'Löschen',
      },
    ),
  },
};

interface Question {
  title: string;
  question: (name: string) => string;
  confirm: string;
}

function action(
  label: string,
  done: (name: string) => string,
  question: Question = { title: label, question: (name) => name, confirm: label },
): Question & { label: string; done: (name: string) => string } {
  return { label, done, ...question };
}
