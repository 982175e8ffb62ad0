import type { operationsTexts as en } from './texts.en';

const users = (count: string) => `${count} Benutzer`;
const ofUsers = (count: string) => (count === '1' ? 'eines Benutzers' : `von ${count} Benutzern`);

/** Texte der Seiten über Vorgänge. */
export const operationsTexts: typeof en = {
  title: 'Vorgänge',
  text: 'Massenänderungen, Löschungen und Importe. Die meisten lassen sich 30 Tage lang rückgängig machen.',
  empty: 'Noch keine Vorgänge',
  emptyHint: 'Massenänderungen und Importe von Benutzern erscheinen hier mit ihrem Fortschritt.',
  toUsers: 'Zu den Benutzern',
  back: 'Alle Vorgänge',
  fields: {
    operation_id: 'Vorgangs-ID',
    kind: 'Art',
    status: 'Status',
    actor_type: 'Ausgeführt als',
    actor_id: 'Ausgeführt von (ID)',
    undo_of: 'Macht rückgängig',
    created_at: 'Begonnen',
    finished_at: 'Beendet',
  },
  columns: { operation: 'Vorgang', status: 'Status', result: 'Ergebnis', by: 'Von', created: 'Begonnen' },
  kind: { change: 'Änderung', delete: 'Löschung', undo: 'Wiederherstellung', import: 'Import' },
  status: {
    receiving: 'Wird hochgeladen',
    waiting: 'Wartet',
    running: 'Läuft',
    done: 'Fertig',
    canceled: 'Abgebrochen',
    failed: 'Fehlgeschlagen',
  },
  actorType: { user: 'Benutzer', key: 'API-Schlüssel' },
  you: 'Sie',
  byYou: 'Ihnen',
  heading: {
    change: (count) => `Änderung ${ofUsers(count)}`,
    delete: (count) => `Löschung ${ofUsers(count)}`,
    undo: (count) => `Wiederherstellung ${ofUsers(count)}`,
    import: (count) => `Import von ${count === '1' ? 'einer Zeile' : `${count} Zeilen`}`,
  },
  receiving: 'Import',
  startedBy: 'Begonnen von',
  users,
  progress: 'Fortschritt',
  outcome: 'Ergebnis',
  processed: (processed, matched) => `${processed} von ${matched}`,
  rate: (rate) => `${rate} pro Sekunde`,
  remaining: (duration) => `noch etwa ${duration}`,
  figures: {
    matched: 'Benutzer',
    rows: 'Zeilen',
    changed: { change: 'Geändert', delete: 'Gelöscht', undo: 'Wiederhergestellt', import: 'Angelegt' },
    unchanged: { other: 'Unverändert', import: 'Bereits vorhanden' },
    skipped: 'Übersprungen',
    with_factors: 'Zweite Faktoren behalten',
    with_keys: 'API-Schlüssel behalten',
    links_restored: 'Einladungen wieder gültig',
    links_expired: 'Einladungen abgelaufen',
  },
  result: {
    changed: { change: 'geändert', delete: 'gelöscht', undo: 'wiederhergestellt', import: 'angelegt' },
    skipped: (count) => `${count} übersprungen`,
    undone: 'rückgängig gemacht',
  },
  request: 'Auftrag',
  deletion: 'Benutzer löschen',
  undoOf: 'Stellt die Benutzer eines früheren Vorgangs wieder her.',
  undoOfImport: 'Löscht die Benutzer eines früheren Imports.',
  toOriginal: 'Diesen Vorgang anzeigen',
  conflicts: {
    label: 'Zeilen bereits vorhandener Benutzer',
    fail: 'als Fehler gemeldet',
    skip: 'übersprungen',
  },
  invite: 'Einladungen',
  skippedUsers: 'Übersprungene Benutzer',
  skippedRows: 'Übersprungene Zeilen',
  skippedRowsHint:
    'Laden Sie die Zeilen herunter, korrigieren Sie sie, und importieren Sie die Datei. ' +
    'Die Zeilen bleiben 30 Tage erhalten.',
  downloadRows: 'Zur Korrektur herunterladen',
  importRows: 'Korrigierte Zeilen importieren',
  more: (count) => `und ${count} weitere`,
  line: 'Zeile',
  row: 'Inhalt',
  errors: 'Fehler',
  unreadable: 'nicht lesbar',
  failed: 'Der Vorgang ist fehlgeschlagen',
  cancel: 'Abbrechen',
  cancelTitle: 'Diesen Vorgang abbrechen?',
  cancelText: 'Bereits bearbeitete Benutzer behalten ihre Änderung. Sie können sie danach rückgängig machen.',
  cancelImportText: 'Bereits angelegte Benutzer bleiben bestehen. Sie können den Import danach rückgängig machen.',
  cancelConfirm: 'Vorgang abbrechen',
  keepRunning: 'Weiterlaufen lassen',
  undo: 'Rückgängig machen',
  undoTitle: 'Diesen Vorgang rückgängig machen?',
  undoText: (count) =>
    `${users(count)} ${count === '1' ? 'wird' : 'werden'} wiederhergestellt. ` +
    'Seither erneut geänderte Benutzer werden übersprungen. ' +
    'Beendete Sitzungen und entfernte zweite Faktoren werden nicht wiederhergestellt.',
  undoConfirm: (count) => `${users(count)} wiederherstellen`,
  undoImportText: (count) =>
    `${users(count)} ${count === '1' ? 'wird' : 'werden'} gelöscht. Benutzer, die seit dem Import ` +
    'geändert wurden oder sich angemeldet haben, bleiben erhalten. Bereits versandte Einladungen werden ungültig. ' +
    'Gelöschte Benutzer können Sie einzeln wiederherstellen.',
  undoImportConfirm: (count) => `${users(count)} löschen`,
  undoUntil: 'Lässt sich rückgängig machen bis',
  undone: 'Ein späterer Vorgang macht diesen rückgängig.',
  undoing: 'Wiederherstellung anzeigen',
};
