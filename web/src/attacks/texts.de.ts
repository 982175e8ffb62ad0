import type { attacksTexts as en } from './texts.en';

/** Texts of the page about attacks. */
export const attacksTexts: typeof en = {
  title: 'Angriffe',
  description: 'Abgewiesene Anmeldungen der letzten 24 Stunden, nach Netz und nach Benutzer.',
  rate: (count, usual) =>
    `Abgewiesene Anmeldungen in der letzten Stunde: ${count}. Üblich zu dieser Tageszeit: ${usual}.`,
  networks: 'Netze mit abgewiesenen Anmeldungen',
  users: 'Benutzer mit abgewiesenen Anmeldungen',
  none: 'Es wurde keine Anmeldung abgewiesen.',
  columns: {
    network: 'Netz',
    refused: 'Abgewiesen',
    logins_tried: 'Versuchte Benutzernamen',
    first_at: 'Zuerst',
    last_at: 'Zuletzt',
    block: 'Sperre',
    name: 'Benutzer',
    networks: 'Netze',
    reason: 'Grund',
    created_by: 'Gesperrt von',
    expires_at: 'Endet',
  },
  block: 'Sperren',
  blockOf: (network) => `${network} sperren`,
  blockNetwork: 'Netz sperren',
  blockEnds: 'Gesperrt, endet',
  dialogTitle: 'Netz sperren',
  dialogText:
    'Bis zum Ende der Sperre kann sich aus diesem Netz niemand anmelden oder ein Passwort zurücksetzen. Wer ' +
    'angemeldet ist, bleibt angemeldet.',
  network: 'Netz',
  networkHint: 'Eine IP-Adresse oder ein Netz wie 203.0.113.0/24.',
  duration: 'Dauer',
  durations: { hour: '1 Stunde', day: '1 Tag', week: '7 Tage', other: 'Bis zu einem Zeitpunkt' },
  end: 'Endet',
  endRule: 'Wählen Sie einen Zeitpunkt in der Zukunft, höchstens 30 Tage entfernt.',
  reason: 'Grund (optional)',
  reasonHint: 'Für andere, die den Dienst betreuen.',
  confirm: 'Netz sperren',
  blocked: (network) => `${network} ist gesperrt.`,
  blocks: 'Gesperrte Netze',
  noBlocks: 'Kein Netz ist gesperrt',
  noBlocksHint: 'Sperren Sie ein Netz, aus dem viele Anmeldungen versucht werden.',
  remove: 'Aufheben',
  removeOf: (network) => `Sperre von ${network} aufheben`,
  removed: (network) => `Die Sperre von ${network} ist aufgehoben.`,
};
