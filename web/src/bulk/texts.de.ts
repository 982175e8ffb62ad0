import { pluralIn } from '../texts/plural';
import { fieldLabels } from '../users/fields';
import type { bulkTexts as en } from './texts.en';

const plural = pluralIn('de');
const users = (count: number) => plural(count, '# Benutzer', '# Benutzer');

/** Texte der Massenänderungen. */
export const bulkTexts: typeof en = {
  back: 'Benutzer',
  title: 'Viele Benutzer ändern',
  text: 'Wählen Sie die Änderung, prüfen Sie die Vorschau, und bestätigen Sie. Bis dahin ändert sich nichts.',
  selection: 'Welche Benutzer',
  everyone: 'Alle Benutzer, die Sie sehen dürfen',
  everyoneHint: 'Es ist kein Filter gesetzt. Fügen Sie einen hinzu, wenn Sie nicht alle Benutzer meinen.',
  selected: (count) => `${users(count)}, in der Liste ausgewählt`,
  matching: 'Alle Benutzer, die diese Bedingungen erfüllen',
  what: 'Aktion',
  modes: { change: 'Felder ändern', disable: 'Deaktivieren', invite: 'Einladungen senden', delete: 'Löschen' },
  hints: {
    disable:
      'Die Benutzer werden abgemeldet und können sich nicht anmelden, bis Sie sie wieder aktivieren. ' +
      'Das lässt sich 30 Tage lang rückgängig machen.',
    invite:
      'Benutzer, die ihre Einladung noch nicht angenommen haben, erhalten einen neuen Link. Der ältere Link wird ' +
      'ungültig. Alle anderen werden übersprungen.',
    delete:
      'Die Benutzer werden abgemeldet und können sich nicht mehr anmelden. ' +
      'Das lässt sich 30 Tage lang rückgängig machen.',
  },
  addChange: 'Feld hinzufügen',
  removeChange: (field) => `${field} nicht ändern`,
  clears: 'Leer lassen, um den Wert zu löschen.',
  listHint: 'Drücken Sie nach jedem Eintrag die Eingabetaste.',
  allCarriers: 'Alle Carrier',
  asRoles: 'Leer lassen, wenn die Rollen der Benutzer es bestimmen.',
  attributesHint: 'Ein JSON-Objekt, das mit den Attributen zusammengeführt wird; null entfernt einen Schlüssel.',
  attributesWrong: 'Das ist kein JSON-Objekt.',
  resetFactors: 'Die Benutzer müssen ihre zweiten Faktoren neu einrichten. Das lässt sich nicht rückgängig machen.',
  secure:
    'Für Konten, deren Passwörter jemand anders kennen könnte. Passwörter und Links werden ungültig, und die ' +
    'Benutzer erhalten einen Link, um ein neues Passwort zu wählen. Zweite Faktoren und API-Schlüssel bleiben ' +
    'erhalten. Das lässt sich nicht rückgängig machen.',
  invite:
    'Benutzer, die ihre Einladung noch nicht angenommen haben, erhalten einen neuen Link. Der ältere Link wird ' +
    'ungültig. Das lässt sich nicht rückgängig machen.',
  preview: 'Vorschau',
  previewAgain: 'Neue Vorschau',
  changed:
    'Die passenden Benutzer haben sich inzwischen geändert. Es wurde nichts geändert. ' +
    'Prüfen Sie die neue Vorschau.',
  result: 'Vorschau',
  figures: {
    matched: 'Treffer',
    unchanged: 'Haben die Werte bereits',
    skipped: 'Werden übersprungen',
    with_factors: 'Behalten zweite Faktoren',
    with_keys: 'Behalten API-Schlüssel',
  },
  would: {
    change: 'Werden geändert',
    disable: 'Werden deaktiviert',
    invite: 'Werden eingeladen',
    delete: 'Werden gelöscht',
  },
  mails: (count, duration) =>
    plural(count, 'Eine E-Mail wird gesendet.', `# E-Mails werden gesendet. Das dauert etwa ${duration}.`),
  nothing: 'Es würde sich kein Benutzer ändern.',
  sample: (shown, total) => `Auszug: ${shown} von ${total}`,
  skipped: 'Wer übersprungen wird, und warum',
  submit: {
    change: (count) => `${users(count)} ändern …`,
    disable: (count) => `${users(count)} deaktivieren …`,
    invite: (count) => `Einladungen an ${users(count)} senden …`,
    delete: (count) => `${users(count)} löschen …`,
  },
  confirmTitle: {
    change: (count) => `${users(count)} ändern?`,
    disable: (count) => `${users(count)} deaktivieren?`,
    invite: (count) => `Einladungen an ${users(count)} senden?`,
    delete: (count) => `${users(count)} löschen?`,
  },
  confirmLabel: { change: 'Ändern', disable: 'Deaktivieren', invite: 'Einladungen senden', delete: 'Löschen' },
  logouts: {
    all: 'Die Benutzer werden abgemeldet und können sich nicht mehr anmelden.',
    secured: 'Die Benutzer werden abgemeldet und können sich mit ihren alten Passwörtern nicht mehr anmelden.',
    factors: 'Benutzer mit zweiten Faktoren werden abgemeldet.',
    addresses: 'Sitzungen von anderen Adressen enden.',
  },
  confirmText: 'Sie können das 30 Tage lang in der Liste der Vorgänge rückgängig machen.',
  confirmFinalText: 'Das lässt sich nicht rückgängig machen.',
  confirmResetText: 'Entfernte zweite Faktoren werden dabei nicht wiederhergestellt.',
  columns: { name: 'Name', email: 'E-Mail-Adresse', change: 'Änderung' },
  arrow: 'wird',
  fields: {
    ...fieldLabels.de,
    roles_add: 'Rollen hinzufügen',
    roles_remove: 'Rollen entfernen',
    reset_second_factors: 'Zweite Faktoren zurücksetzen',
    secure: 'Konten absichern',
    invite: 'Einladungen senden',
  },
  replaceRoles: 'Alle Rollen ersetzen',
};
