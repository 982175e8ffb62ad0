import { fieldLabels } from './fields';
import type { usersTexts as en } from './texts.en';

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
    count: (count) => (count === 1 ? '1 Benutzer ausgewählt' : `${count} Benutzer ausgewählt`),
    change: 'Ausgewählte ändern',
    changeMatching: 'Alle Treffer ändern',
    changeAll: 'Viele ändern',
    tooMany: (max) => `Es lassen sich höchstens ${max} ausgewählte Benutzer ändern. Verwenden Sie einen Filter.`,
    clear: 'Auswahl aufheben',
  },
  create: {
    open: 'Neuer Benutzer',
    title: 'Neuer Benutzer',
    optional: (label) => `${label} (optional)`,
    clearRoles: 'Alle Rollen entfernen',
    access: 'Erste Anmeldung',
    invite: 'Per E-Mail einladen',
    inviteHint: 'Der Benutzer erhält einen Link und wählt selbst ein Passwort.',
    password: 'Erstpasswort vergeben',
    passwordHint:
      'Sie übergeben das Passwort. Der Benutzer muss es bei der ersten Anmeldung ändern, innerhalb von 7 Tagen.',
    initialPassword: 'Erstpasswort',
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
    by: 'von',
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
    recoveryCodes: (count) => (count === 1 ? 'Noch 1 Wiederherstellungscode' : `Noch ${count} Wiederherstellungscodes`),
    unconfirmed: 'nicht bestätigt',
    added: 'eingerichtet',
    used: 'verwendet',
    reset: 'Zweite Faktoren zurücksetzen',
  },
  history: {
    empty: 'Noch nichts aufgezeichnet',
    more: 'Ältere Einträge anzeigen',
  },
  check: {
    why: 'Warum kann sich dieser Benutzer nicht anmelden?',
    editData: 'Daten ändern',
    editRoles: 'Rollen ändern',
    showHistory: 'Nachsehen, wer den Benutzer deaktiviert hat',
    failures: 'Letzte fehlgeschlagene Anmeldungen',
    noFailures: 'Keine fehlgeschlagenen Anmeldungen aufgezeichnet.',
    fine: {
      title: 'Nichts verhindert diese Anmeldung',
      text:
        'Wenn die Anmeldung nicht gelingt, ist wahrscheinlich das Passwort falsch. ' +
        'Senden Sie einen Link für ein neues Passwort.',
      wrongPassword:
        'Die letzten Anmeldungen sind fehlgeschlagen, wahrscheinlich wegen eines falschen Passworts. ' +
        'Senden Sie einen Link für ein neues Passwort.',
    },
    limited: {
      title: 'Sie sehen nur einen Teil der Gründe',
      text:
        'Fehlgeschlagene Anmeldungen und Sperren, die sie auslösen, stehen im Protokoll. Um sie zu sehen, brauchen ' +
        'Sie die Berechtigung audit:read. Ein Administrator kann den Benutzer nach zu vielen Fehlversuchen ' +
        'entsperren oder ihm einen Link für ein neues Passwort senden.',
    },
    obstacles: {
      deleted: {
        title: 'Der Benutzer ist gelöscht',
        text: () => 'Gelöschte Benutzer können sich nicht anmelden. Stellen Sie den Benutzer wieder her.',
      },
      disabled: {
        title: 'Der Benutzer ist deaktiviert',
        text: () => 'Finden Sie heraus, warum, bevor Sie den Benutzer aktivieren.',
      },
      locked: {
        title: 'Das Konto ist gesperrt',
        text: () => 'Zu viele falsche Passwörter. Entsperren Sie das Konto, oder warten Sie das Ende der Sperre ab.',
      },
      lockedUntilReset: {
        title: 'Das Konto ist gesperrt, bis das Passwort neu gesetzt wird',
        text: () => 'Sehr viele falsche Passwörter. Senden Sie einen Link für ein neues Passwort.',
      },
      lockedAddress: {
        title: 'Das Konto ist für eine Adresse gesperrt',
        text: ([ip]) => `Zu viele falsche Passwörter von ${ip ?? ''}.`,
      },
      lockedCodes: {
        title: 'Der zweite Faktor ist gesperrt',
        text: () =>
          'Zu viele falsche Codes. Entsperren Sie den Benutzer, oder setzen Sie die zweiten Faktoren zurück, ' +
          'wenn das Gerät verloren ist.',
      },
      invited: {
        title: 'Der Benutzer hat noch kein Passwort gesetzt',
        text: () =>
          'Bitten Sie ihn, die Einladung zu suchen, oder senden Sie eine neue. Ein Import sendet Einladungen nur, ' +
          'wenn diese Option gewählt wurde.',
      },
      invitationOld: {
        title: 'Die Einladung ist wahrscheinlich abgelaufen',
        text: () =>
          'Der Benutzer hat noch kein Passwort, und Einladungen gelten üblicherweise 7 Tage. Laden Sie ihn erneut ein.',
      },
      initialPasswordExpired: {
        title: 'Das Erstpasswort ist wahrscheinlich abgelaufen',
        text: () =>
          'Es wurde vor mehr als 7 Tagen gesetzt und nie verwendet. ' + 'Senden Sie einen Link für ein neues Passwort.',
      },
      addressRejected: {
        title: 'Die letzte Anmeldung kam von einer nicht erlaubten Adresse',
        text: ([ip, ...allowed]) =>
          `Sie kam von ${ip ?? ''}. Erlaubt: ${allowed.join(', ')}. ` +
          'Fügen Sie die Adresse hinzu, wenn Sie ihr vertrauen.',
      },
      addressesLimited: {
        title: 'Anmeldungen sind auf einige Adressen beschränkt',
        text: (allowed) => `Erlaubt: ${allowed.join(', ')}.`,
      },
      mustEnroll: {
        title: 'Ein erforderlicher zweiter Faktor fehlt',
        text: () => 'Der Benutzer kann sich anmelden, muss aber zuerst einen zweiten Faktor einrichten.',
      },
      secondFactor: {
        title: 'Ein zweiter Faktor ist erforderlich',
        text: () =>
          'Wenn der Benutzer das Gerät und die Wiederherstellungscodes verloren hat, ' +
          'setzen Sie die zweiten Faktoren zurück.',
      },
      mustChangePassword: {
        title: 'Das Passwort muss geändert werden',
        text: () => 'Der Benutzer kann sich anmelden, muss aber zuerst ein neues Passwort wählen.',
      },
    },
    time: {
      deleted: 'Gelöscht',
      locked: 'Endet',
      lockedAddress: 'Endet',
      lockedCodes: 'Endet',
      invited: 'Eingeladen',
      invitationOld: 'Eingeladen',
      initialPasswordExpired: 'Gesetzt',
      addressRejected: 'Versucht',
    },
    cause: { 'login.failed': 'Falsches Passwort', 'login.second_factor_failed': 'Falscher zweiter Faktor' },
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
    secure: action('Konto sichern', (name) => `Das Konto von ${name} ist gesichert. Ein Link ist unterwegs.`, {
      title: 'Konto sichern?',
      question: (name) =>
        'Für ein Konto, dessen Passwort jemand anders kennen könnte. Passwort, verschickte Links und eine ' +
        `vorgeschlagene Adresse von ${name} werden ungültig, und alle Sitzungen enden. ` +
        'Der Benutzer erhält einen Link, um ein neues Passwort zu wählen.',
      confirm: 'Konto sichern',
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
