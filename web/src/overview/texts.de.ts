import type { overviewTexts as en } from './texts.en';

/** Texte der Startseite. */
export const overviewTexts: typeof en = {
  title: 'Übersicht',
  asOf: 'Aktualisiert',
  attention: {
    title: 'Handlungsbedarf',
    nothing: 'Kein Handlungsbedarf.',
    kinds: {
      users_locked: (count, one) => `${count} ${one ? 'Benutzer ist' : 'Benutzer sind'} nach Fehlversuchen gesperrt`,
      users_must_enroll: (count, one) =>
        `${count} ${one ? 'Benutzer fehlt' : 'Benutzern fehlt'} ein erforderlicher zweiter Faktor`,
      api_keys_expiring: (count, one) =>
        `${count} API-Schlüssel ${one ? 'läuft' : 'laufen'} in den nächsten 14 Tagen ab`,
      mails_failed: (count, one) => `${count} E-Mail${one ? ' konnte' : 's konnten'} nicht zugestellt werden`,
      attack: (count) => `${count} abgewiesene Anmeldungen in der letzten Stunde, weit mehr als üblich`,
    },
  },
  users: {
    title: 'Benutzer',
    status: { active: 'Aktiv', invited: 'Eingeladen', disabled: 'Deaktiviert' },
    types: { carrier: 'Carrier-Benutzer', system: 'System-Benutzer' },
    statusTitle: 'Status',
    total: 'Gesamt',
    link: (count, type, status) => `${type}, ${status}: ${count}`,
  },
  sessions: 'Aktive Sitzungen',
  sessionsHint: 'Jetzt angemeldet',
  operations: 'Laufende Vorgänge',
  operationsHint: 'Massenänderungen und Importe',
  logins: {
    title: 'Anmeldungen der letzten 24 Stunden',
    succeeded: 'Erfolgreich',
    failed: 'Fehlgeschlagen',
    hour: 'Stunde',
    byHour: 'Anmeldungen je Stunde',
    asTable: 'Als Tabelle anzeigen',
    asChart: 'Als Diagramm anzeigen',
    none: 'Keine Anmeldungen in den letzten 24 Stunden.',
    summary: (succeeded, failed, busiest) =>
      `Balkendiagramm der Anmeldungen der letzten 24 Stunden je Stunde: ${succeeded} erfolgreich, ` +
      `${failed} fehlgeschlagen. Die meisten Anmeldungen in der Stunde ab ${busiest}.`,
    bar: (hour, succeeded, failed) => `${hour}: ${succeeded} erfolgreich, ${failed} fehlgeschlagen`,
    now: 'jetzt',
  },
};
