import type { transferTexts as en } from './texts.en';

const rows = (count: string) => (count === '1' ? '1 Zeile' : `${count} Zeilen`);

/** Texte von Import und Export der Benutzer. */
export const transferTexts: typeof en = {
  menu: 'Import und Export',
  export: {
    menu: 'Benutzer exportieren …',
    title: 'Benutzer exportieren',
    users: (count, isExact, isFiltered) =>
      `Die Datei wird ${isExact ? '' : 'etwa '}${count} Benutzer enthalten` +
      (isFiltered ? ', die zum Filter der Liste passen.' : ': alle, die Sie sehen dürfen.'),
    format: 'Format',
    csv: 'CSV',
    csvHint: 'Für Tabellenprogramme. Ein Import der Datei legt Benutzer an, ändert aber keine vorhandenen.',
    delimiter: 'Trennzeichen',
    delimiters: { comma: 'Komma', semicolon: 'Strichpunkt (deutsches Excel)', tab: 'Tabulator' },
    bom: 'Datei als UTF-8 kennzeichnen, damit Excel Umlaute richtig anzeigt',
    columns: 'Spalten',
    allColumns: 'Alle Spalten',
    clearColumns: 'Alle Spalten auswählen',
    ndjson: 'NDJSON',
    withoutDeleted: 'Gelöschte Benutzer werden nicht exportiert, obwohl die Liste sie zeigt.',
    ndjsonHint: 'Für Programme. Ein JSON-Objekt pro Zeile.',
    hashes: 'Mit Passwort-Hashes',
    hashesHint: 'Für den Umzug in eine andere Installation. Bewahren Sie die Datei so sicher auf wie die Passwörter.',
    submit: 'Herunterladen',
  },
  import: {
    menu: 'Benutzer importieren …',
    back: 'Benutzer',
    title: 'Benutzer importieren',
    text:
      'Legen Sie Benutzer aus einer CSV- oder NDJSON-Datei an. Die Datei wird zuerst geprüft; ' +
      'vor Ihrer Bestätigung wird nichts angelegt. ' +
      'Die Prüfung vergleicht die Zeilen mit vorhandenen Benutzern, nicht untereinander.',
    source: 'Datei',
    drop: 'Datei hier ablegen',
    or: 'oder',
    choose: 'Datei auswählen',
    formats: 'CSV oder NDJSON, bis zu 5.000.000 Zeilen. Benutzername und E-Mail-Adresse sind erforderlich.',
    columns: (names) =>
      `Mögliche Spalten: ${names}. Trennen Sie mehrere Rollen, Carrier oder Adressen mit Strichpunkten. ` +
      'Schreiben Sie Attribute als JSON.',
    wrongType:
      'Das ist keine CSV- oder NDJSON-Datei. Speichern Sie die Tabelle als CSV (UTF-8), und legen Sie sie wieder ab.',
    empty: 'Diese Datei ist leer.',
    file: (name, size) => `${name} (${size})`,
    otherFile: 'Andere Datei auswählen',
    onConflict: 'Wenn Name, E-Mail-Adresse oder ID einer Zeile bereits vergeben ist',
    fail: 'Zeile als Fehler melden',
    skip: 'Zeile ohne Meldung überspringen',
    template: 'Vorlage herunterladen',
    table: {
      encoding: 'Zeichenkodierung',
      encodings: { 'utf-8': 'UTF-8', 'windows-1252': 'Windows-1252 (ältere Excel-Dateien)' },
      allRows: (label) => `${label} für alle Zeilen`,
      unknown: 'Diese Spalten sind nicht bekannt. Wählen Sie, was sie enthalten.',
      untitled: (place) => `Spalte ${place}`,
      ignore: 'Nicht importieren',
    },
    check: 'Datei prüfen',
    checking: 'Die Datei wird hochgeladen und geprüft …',
    uploading: 'Die Datei wird hochgeladen …',
    keepOpen: 'Lassen Sie diese Seite geöffnet.',
    result: 'Ergebnis der Prüfung',
    rows: 'Zeilen in der Datei',
    wouldCreate: 'Werden angelegt',
    unchanged: 'Bereits vorhanden',
    bad: 'Mit Fehlern',
    allGood: (count) =>
      count === '1'
        ? 'Alle Zeilen sind in Ordnung. 1 Benutzer wird angelegt.'
        : `Alle Zeilen sind in Ordnung. ${count} Benutzer werden angelegt.`,
    someBad: (count) =>
      `${rows(count)} ${count === '1' ? 'hat Fehler und wird' : 'haben Fehler und werden'} übersprungen. ` +
      'Laden Sie diese Zeilen herunter, korrigieren Sie sie, und importieren Sie sie als zweite Datei. ' +
      'Oder korrigieren Sie die Datei, und prüfen Sie sie noch einmal.',
    manyBad: (count) =>
      `${rows(count)} haben Fehler und werden übersprungen. Korrigieren Sie die Datei, und prüfen Sie sie noch ` +
      'einmal. Oder importieren Sie die Datei: Der Vorgang bietet dann alle übersprungenen Zeilen zur Korrektur an.',
    noneGood:
      'Aus dieser Datei kann kein Benutzer angelegt werden. Korrigieren Sie die Datei, und prüfen Sie sie noch einmal.',
    noRows: 'Die Datei enthält außer der Kopfzeile keine Zeilen.',
    nothingNew: 'Alle Benutzer dieser Datei sind bereits vorhanden.',
    download: (count) => `${rows(count)} zur Korrektur herunterladen`,
    submit: (count) => `${count} Benutzer importieren`,
    inviteQuestion: (mails, duration) =>
      mails === '1'
        ? 'Ein neuer Benutzer hat kein Passwort. Möchten Sie ihm jetzt eine Einladung senden? Sie können das auch ' +
          'später tun.'
        : `${mails} neue Benutzer haben kein Passwort. Möchten Sie jetzt ${mails} Einladungen senden? Das dauert ` +
          `etwa ${duration}. Sie können das auch später tun.`,
    submitInvite: (count, mails) =>
      `${count} Benutzer importieren und ${mails === '1' ? '1 Einladung' : `${mails} Einladungen`} senden`,
    submitSilent: (count) => `${count} Benutzer ohne Einladung importieren`,
    errors: 'Zeilen mit Fehlern',
    onlyFirst: (shown, total) => `Die ersten ${shown} von ${total} Zeilen mit Fehlern`,
    showMore: 'Mehr anzeigen',
    line: 'Zeile',
    reason: 'Fehler',
  },
};
