import type { rolesTexts as en } from './texts.en';

/** Texte der Seiten über Rollen. */
export const rolesTexts: typeof en = {
  title: 'Rollen',
  description:
    'Eine Rolle gibt ihre Berechtigungen allen Benutzern, die sie haben. Änderungen gelten ab deren nächster Anfrage.',
  create: 'Rolle anlegen',
  createTitle: 'Rolle anlegen',
  builtIn: 'Vordefiniert',
  builtInPurposes: {
    administrator: 'Darf alles',
    operator: 'Benutzer, Sitzungen, Protokoll, E-Mails und gesperrte Netze, ohne endgültiges Löschen',
    auditor: 'Darf alles lesen',
    carrier_administrator: 'Benutzer und Sitzungen des eigenen Carriers',
    carrier_user: 'Nutzt die Dienste',
  },
  empty: 'Es gibt keine Rollen',
  search: 'Rollen suchen',
  columns: { name: 'Name', user_types: 'Für', permissions: 'Berechtigungen', second_factor: 'Zweiter Faktor' },
  userTypes: { system: 'System-Benutzer', carrier: 'Carrier-Benutzer' },
  sections: {
    general: 'Allgemein',
    permissions: 'Berechtigungen',
    grants: 'Rollen',
    secondFactor: 'Zweiter Faktor',
  },
  name: 'Name',
  nameHint: 'Buchstaben, Ziffern, Punkte, Binde- und Unterstriche. Der Name lässt sich später nicht ändern.',
  nameRule:
    'Verwenden Sie 1 bis 64 Buchstaben, Ziffern, Punkte, Binde- oder Unterstriche, ohne Punkt am Anfang. ' +
    '„list“ und „create“ sind reserviert.',
  purpose: 'Beschreibung',
  purposeHint: 'Wozu die Rolle dient',
  types: 'Kann vergeben werden an',
  typesRequired: 'Wählen Sie mindestens eine Art',
  typesInUse: 'Ein Benutzer der entfernten Art hat diese Rolle. Entziehen Sie die Rolle zuerst diesen Benutzern.',
  permissionsHint:
    'Berechtigungen für Benutzer, Sitzungen und Schlüssel gelten im Bereich des Benutzers, der die Rolle hat.',
  mayGrant: 'Darf diese Rollen vergeben',
  mayGrantHint: 'Außerdem dürfen Benutzer Rollen vergeben, deren Berechtigungen sie selbst haben.',
  noGrants: 'Keine außer Rollen, deren Berechtigungen der Benutzer hat',
  factorRequired: 'Zweiten Faktor verlangen',
  factorHint:
    'Ab dem gewählten Zeitpunkt müssen Benutzer ohne zweiten Faktor direkt nach der Anmeldung einen einrichten.',
  factorFrom: 'Ab',
  notRequired: 'Nicht erforderlich',
  since: 'Erforderlich seit',
  from: 'Erforderlich ab',
  saved: 'Die Rolle ist gespeichert. Änderungen gelten ab der nächsten Anfrage ihrer Benutzer.',
  created: (name) => `Die Rolle ${name} ist angelegt.`,
  deleted: (name) => `Die Rolle ${name} ist gelöscht.`,
  readOnly: 'Diese Rolle hat Berechtigungen, die Sie nicht haben. Daher können Sie sie nicht ändern.',
  members: {
    title: 'Benutzer mit dieser Rolle',
    none: 'Bisher hat kein Benutzer diese Rolle.',
    showAll: (total) => `Alle ${total} anzeigen`,
    add: 'Benutzer hinzufügen',
    addTo: (role) => `Rolle ${role} vergeben`,
    search: 'Benutzer nach Name, E-Mail oder Position suchen',
    found: (count, more) =>
      `${count} Benutzer gefunden${more ? '. Grenzen Sie die Suche ein, um weitere zu sehen.' : ''}`,
    selectAll: (count) => `Alle ${count} auswählen`,
    submit: (count) => (count === 0 ? 'Benutzer hinzufügen' : `${count} Benutzer hinzufügen`),
    added: (changed, chosen) =>
      changed === chosen
        ? `${changed} Benutzer ${changed === 1 ? 'hat' : 'haben'} jetzt die Rolle.`
        : `${changed} von ${chosen} Benutzern haben die Rolle erhalten. Die übrigen bleiben unverändert.`,
  },
  holders: (count, one) => `${count} Benutzer ${one ? 'hat' : 'haben'} diese Rolle`,
  noHolders: 'Kein Benutzer hat diese Rolle',
  delete: 'Rolle löschen',
  deleteBlocked: (name) => `Die Rolle ${name} wird noch verwendet`,
  deleteTitle: (name) => `Rolle ${name} löschen?`,
  deleteText:
    'Kein Benutzer hat diese Rolle. Gelöschte Benutzer, die sie hatten, werden ohne sie wiederhergestellt. ' +
    'Das lässt sich nicht rückgängig machen.',
  deleteUnknown:
    'Gelöschte Benutzer, die diese Rolle hatten, werden ohne sie wiederhergestellt. ' +
    'Das lässt sich nicht rückgängig machen.',
  deleteInUse: (count, one) =>
    one
      ? `${count} Benutzer hat diese Rolle und würde ihre Berechtigungen verlieren. Entziehen Sie ihm zuerst die Rolle.`
      : `${count} Benutzer haben diese Rolle und würden ihre Berechtigungen verlieren. ` +
        'Entziehen Sie ihnen zuerst die Rolle.',
  deleteGranted: (roles) => `Benutzer mit diesen Rollen dürfen sie vergeben: ${roles}. Entfernen Sie sie dort zuerst.`,
  showHolders: 'Benutzer anzeigen',
};
