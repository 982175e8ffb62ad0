/** German texts of limits, by the names of their values. */
export const limitTexts: Record<string, string> = {
  min: 'braucht mindestens {min} {unit}',
  max: 'darf höchstens {max} {unit} haben',
  'min max': 'muss eine ganze Zahl von {min} bis {max} sein',
  'min max unit': 'muss {min} bis {max} {unit} haben',
  allowed: 'muss eines davon sein: {allowed}',
  reason: 'wird nicht angenommen: {reason}',
};

/** German names of the units of limits; `item` is the singular of `items`. */
export const unitTexts: Record<string, string> = {
  characters: 'Zeichen',
  bytes: 'Byte als JSON',
  item: 'Eintrag',
  items: 'Einträge',
  keys: 'Schlüssel',
  levels: 'Ebenen',
  fields: 'Felder',
  parameters: 'Parameter',
  values: 'Werte',
  columns: 'Spalten',
  cells: 'Zellen',
  words: 'Wörter',
};

/** German texts by the code of an error, for details without a text of their own. */
export const codeTexts: Record<string, string> = {
  'field.malformed': 'hat nicht die erwartete Form',
  'field.not_allowed': 'ist hier nicht möglich',
  'field.required': 'fehlt',
  'field.too_deep': 'ist zu tief verschachtelt',
  'field.too_few': 'hat zu wenige Einträge',
  'field.too_long': 'ist zu lang',
  'field.too_many': 'hat zu viele Einträge',
  'field.too_short': 'ist zu kurz',
  'field.unknown': 'ist hier kein gültiges Feld',
  'field.wrong_type': 'hat nicht den erwarteten Datentyp',
  'parameter.conflict': 'lässt sich nicht mit einem anderen Filter kombinieren',
  'parameter.malformed': 'hat keinen gültigen Wert',
  'parameter.not_allowed': 'ist hier nicht möglich',
  'parameter.too_many': 'kommt zu oft vor',
  'parameter.unknown': 'ist hier kein gültiger Filter',
  'password_hash.too_costly': 'braucht zu viel Rechenzeit',
};

/** German texts by the details of the API about invalid fields and values. */
export const detailTexts: Record<string, string> = {
  'must be an e-mail address': 'muss eine E-Mail-Adresse sein',
  'must be a language tag such as de-AT': 'muss ein Sprachkürzel wie de-AT sein',
  'must be a time zone such as Europe/Vienna': 'muss eine Zeitzone wie Europe/Vienna sein',
  'must contain only letters, digits, `.`, `_` or `-`': 'darf nur Buchstaben, Ziffern, „.“, „_“ und „-“ enthalten',
  'must contain only letters, digits, `.`, `_` or `-`, and must not begin with `.`':
    'darf nur Buchstaben, Ziffern, „.“, „_“ und „-“ enthalten und nicht mit „.“ beginnen',
  'must be the name of a role': 'muss der Name einer Rolle sein',
  'must be an IP address': 'muss eine IP-Adresse sein',
  'must be an IP address or a CIDR': 'muss eine IP-Adresse oder ein Netz wie 192.0.2.0/24 sein',
  'must be an E.164 number such as +4312345678': 'muss eine Nummer mit Landesvorwahl sein, etwa +4312345678',
  'must be an RFC 3339 time such as 2026-11-20T13:00:00Z': 'muss ein Zeitpunkt wie 2026-11-20T13:00:00Z sein',
  'must be a time such as 2026-01-31T12:00:00.000Z': 'muss ein Zeitpunkt wie 2026-01-31T12:00:00.000Z sein',
  'must be an existing time': 'ist kein gültiger Zeitpunkt',
  'must be in the future, at most one year ahead': 'muss in der Zukunft liegen, höchstens ein Jahr ab jetzt',
  'must not be in the future': 'darf nicht in der Zukunft liegen',
  'must be a UUID': 'muss eine ID wie 01a2073f-ee9c-74d8-9b53-2f6d4814e423 sein',
  'must be true or false': 'muss true oder false sein',
  'must be six digits': 'muss aus sechs Ziffern bestehen',
  'must be UTF-8': 'muss in UTF-8 kodiert sein',
  'must be complete; the upload broke off': 'ist unvollständig, weil die Übertragung abbrach',
  'must have a header line': 'hier muss die Kopfzeile stehen',
  'must not repeat the column': 'darf nicht zweimal vorkommen',
  'is not a column of an import': 'ist keine Spalte eines Imports',
  'must close each quote': 'hier fehlt ein schließendes Anführungszeichen',
  'must not have a quote within a cell without quotes':
    'hier steht ein Anführungszeichen in einer Zelle, die nicht mit einem beginnt',
  'must be JSON': 'muss JSON sein',
  'must be a JSON object': 'muss ein JSON-Objekt sein',
  'must be `module:action` in lower case, or `*`': 'muss die Form modul:aktion in Kleinbuchstaben haben oder * sein',
  'must not be `list` or `create`': 'darf nicht „list“ oder „create“ sein',
  'must not contain duplicates': 'darf keine doppelten Einträge enthalten',
  'must not contain control or invisible characters': 'darf keine Steuerzeichen oder unsichtbaren Zeichen enthalten',
  'contains a key that is not allowed': 'enthält einen Schlüssel, der nicht erlaubt ist',
  'contains a role that does not exist or is not available to this type of user':
    'enthält eine Rolle, die es nicht gibt oder die diese Art von Benutzern nicht haben kann',
  'contains a role that you may not grant': 'enthält eine Rolle, die Sie nicht vergeben dürfen',
  'names a role that does not exist': 'nennt eine Rolle, die es nicht gibt',
  'names a role that does not exist or is not available to this type of user':
    'nennt eine Rolle, die es nicht gibt oder die diese Art von Benutzern nicht haben kann',
  'must be absent for a System User': 'muss bei einem System-Benutzer fehlen',
  'must be absent for a Carrier User': 'muss bei einem Carrier-Benutzer fehlen',
  'is for System Users only': 'gibt es nur bei System-Benutzern',
  'is not possible for this user': 'ist bei diesem Benutzer nicht möglich',
  'requires a password': 'ist nur mit einem Passwort möglich',
  'is taken': 'ist bereits vergeben',
  'is not a parameter of this operation': 'ist hier kein gültiger Filter',
  'must not have empty values': 'darf keine leeren Werte enthalten',
  'must not be `invited` for a user with a password': 'darf bei einem Benutzer mit Passwort nicht „invited“ sein',
  'must be a URL': 'muss eine URL sein',
  'must be a URL without user name and fragment': 'muss eine URL ohne Benutzernamen und ohne „#“ sein',
  'must be an integer': 'muss eine ganze Zahl sein',
  'is not the current code of the app': 'ist nicht der aktuelle Code der App',
  'is only possible while the user is invited': 'ist nur möglich, solange der Benutzer eingeladen ist',
  'is outside your scope': 'liegt außerhalb Ihres Bereichs',
  'cannot be combined with other fields': 'lässt sich nicht mit anderen Änderungen kombinieren',
  'cannot be combined with roles_add or roles_remove':
    'lässt sich nicht mit „Rollen hinzufügen“ oder „Rollen entfernen“ kombinieren',
  'contains characters that cannot be stored': 'enthält Zeichen, die sich nicht speichern lassen',
  'cannot be read': 'ist nicht lesbar',
  'was not checked, because there were too many conflicts within an hour':
    'wurde nicht geprüft, weil es in einer Stunde zu viele Konflikte gab',
  'must be an MD5 hash; only System Users without carrier_scope can import hashes of other systems':
    'muss ein MD5-Hash sein; Hashes anderer Systeme können nur System-Benutzer ohne Carrier-Bereich importieren',
};
