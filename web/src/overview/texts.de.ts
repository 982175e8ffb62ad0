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
      attack: (count) => `${count} abgelehnte Anmeldungen in der letzten Stunde, weit mehr als üblich`,
      mails_failing: (count, one) => `${count} E-Mail${one ? ' konnte' : 's konnten'} bisher nicht zugestellt werden`,
      webhooks_disabled: (count, one) => `${count} ${one ? 'Webhook wurde' : 'Webhooks wurden'} vom Dienst deaktiviert`,
      webhooks_failing: (count, one) => `${count} ${one ? 'Webhook ist' : 'Webhooks sind'} gestört`,
    },
    remedies: {
      attack: 'Sehen Sie nach, woher die Anmeldungen kommen, und sperren Sie das Netz.',
      users_locked: 'Entsperren Sie die Benutzer, oder warten Sie, bis die Sperre endet.',
      users_must_enroll: 'Erinnern Sie die Benutzer daran, oder stellen Sie Einrichtungscodes aus.',
      api_keys_expiring: 'Ersetzen Sie das Geheimnis, und wählen Sie einen späteren Ablauftermin.',
      mails_failed: 'Prüfen Sie die Adressen, und senden Sie die E-Mails erneut.',
      mails_failing: 'Lesen Sie die Antworten des Mailservers, und korrigieren Sie falsche Adressen.',
      webhooks_disabled:
        'Einem Modul fehlen Änderungen. Klären Sie die Ursache, und aktivieren Sie den Webhook wieder.',
      webhooks_failing: 'Lesen Sie die Antworten der Ziele, oder überspringen Sie eine fehlschlagende Änderung.',
    },
  },
  health: {
    title: 'Zustand',
    parts: {
      mail: 'E-Mail',
      jobs: 'Hintergrundaufgaben',
      webhooks: 'Webhooks',
      database: 'Datenbank',
      disk: 'Datenträger',
    },
    states: { ok: 'In Ordnung', warning: 'Warnung', critical: 'Kritisch' },
    details: {
      nothingWaits: 'Nichts wartet',
      onTime: 'Ohne Verzögerung',
      mail: (waiting, oldest) => `${waiting} wartend, die älteste seit ${oldest}`,
      jobs: (overdue, failed) => `${overdue} überfällig, ${failed} fehlgeschlagen`,
      webhooks: (disabled, failing) => `${disabled} deaktiviert, ${failing} gestört`,
      behind: (time) => `Rückstand: ${time}`,
      database: (size, used, max) => `${size}, ${used} von ${max} Verbindungen`,
      disk: (free, total) => `${free} von ${total} frei`,
    },
    problems: {
      mail: {
        warning: ['Einige E-Mails konnten nicht zugestellt werden', 'Lesen Sie die Antworten des Mailservers.'],
        critical: [
          'Der Mailserver ist nicht nutzbar',
          'Prüfen Sie, ob er läuft und ob Adresse und Zugangsdaten stimmen.',
        ],
      },
      jobs: {
        warning: ['Hintergrundaufgaben sind fehlgeschlagen', 'Die Fehler stehen im Protokoll des Dienstes.'],
        critical: [
          'Hintergrundaufgaben stehen still',
          'Prüfen Sie, ob eine Instanz sie ausführt, und lesen Sie ihr Protokoll.',
        ],
      },
      webhooks: {
        warning: ['Webhooks sind im Rückstand', 'Prüfen Sie, ob eine Instanz sie sendet, und lesen Sie ihr Protokoll.'],
        critical: ['Webhooks wurden deaktiviert', 'Klären Sie die Ursache, und aktivieren Sie sie wieder.'],
      },
      database: {
        warning: [
          'Die Verbindungen der Datenbank werden knapp',
          'Verringern Sie DATABASE_POOL_MAX, oder erhöhen Sie max_connections.',
        ],
        critical: [
          'Die Datenbank hat kaum noch freie Verbindungen',
          'Verringern Sie DATABASE_POOL_MAX, oder erhöhen Sie max_connections.',
        ],
      },
      disk: {
        warning: [
          'Der Datenträger der Datenbank füllt sich',
          'Schaffen Sie Platz, oder vergrößern Sie den Datenträger.',
        ],
        critical: [
          'Der Datenträger der Datenbank ist fast voll',
          'Schaffen Sie sofort Platz. Ist der Datenträger voll, bleibt die Datenbank stehen.',
        ],
      },
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
  sessions: 'Sitzungen',
  sessionsHint: 'Jetzt aktiv',
  operations: 'Vorgänge',
  operationsHint: 'Laufen gerade',
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
