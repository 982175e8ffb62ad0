import type { components } from '../api/schema';

/** How the console shows a field of users. The API decides who may read and change it. */
export interface FieldDefinition {
  /** label in English */
  en: string;
  /** label in German */
  de: string;
  /** set for texts about the person, which the form of a user and the profile show as inputs */
  person?: { type?: 'tel'; autoComplete?: string; maxLength?: number };
  /** text below the input */
  hint?: { en: string; de: string };
  /** set for texts that a bulk change can contain */
  bulk?: true;
  /** set for columns of the list of users */
  column?: 'sortable' | 'unsortable';
  /** set for columns of import files */
  file?: true;
}

/** Fields of the API that the console uses, but shows without a label. */
type Unnamed = 'created_by' | 'online' | 'second_factors' | 'must_enroll_second_factor' | 'version';

/**
 * The fields of users, in the order of responses and files. Forms, bulk changes, the list, filters,
 * the history and the audit log, the profile and the hints about files follow this table.
 */
export const userFields = {
  user_id: { en: 'User ID', de: 'Benutzer-ID', file: true },
  user_type: { en: 'User type', de: 'Art des Benutzers', file: true },
  name: { en: 'User name', de: 'Benutzername', column: 'sortable', file: true },
  email: { en: 'E-mail address', de: 'E-Mail-Adresse', column: 'sortable', file: true },
  email_pending: { en: 'New e-mail address (not confirmed)', de: 'Neue E-Mail-Adresse (nicht bestätigt)' },
  email_verified_at: { en: 'E-mail address confirmed', de: 'E-Mail-Adresse bestätigt', file: true },
  first_name: {
    en: 'First name',
    de: 'Vorname',
    person: { autoComplete: 'given-name', maxLength: 100 },
    file: true,
  },
  last_name: {
    en: 'Last name',
    de: 'Nachname',
    person: { autoComplete: 'family-name', maxLength: 100 },
    file: true,
  },
  phone: {
    en: 'Phone',
    de: 'Telefon',
    person: { type: 'tel', autoComplete: 'tel' },
    hint: {
      en: 'With country code, such as +4312345678',
      de: 'Mit Landesvorwahl, zum Beispiel +4312345678',
    },
    file: true,
  },
  job_title: {
    en: 'Job title',
    de: 'Position',
    person: { autoComplete: 'organization-title', maxLength: 100 },
    file: true,
  },
  department: { en: 'Department', de: 'Abteilung', person: { maxLength: 128 }, bulk: true, file: true },
  locale: {
    en: 'Language',
    de: 'Sprache',
    person: {},
    hint: {
      en: 'Such as en or de-AT; also the language of e-mails',
      de: 'Zum Beispiel de oder de-AT; auch die Sprache der E-Mails',
    },
    bulk: true,
    file: true,
  },
  timezone: {
    en: 'Time zone',
    de: 'Zeitzone',
    person: {},
    hint: { en: 'Such as Europe/Vienna', de: 'Zum Beispiel Europe/Vienna' },
    bulk: true,
    file: true,
  },
  carrier_id: { en: 'Carrier', de: 'Carrier', column: 'sortable', file: true },
  carrier_scope: { en: 'Carriers', de: 'Beschränkt auf Carrier', file: true },
  roles: { en: 'Roles', de: 'Rollen', column: 'unsortable', file: true },
  status: { en: 'Status', de: 'Status', column: 'sortable', file: true },
  allowed_ips: { en: 'Allowed addresses', de: 'Erlaubte Adressen', file: true },
  attributes: { en: 'Attributes', de: 'Attribute', file: true },
  must_change_password: { en: 'Must change the password', de: 'Muss das Passwort ändern', file: true },
  second_factor_required_from: { en: 'Second factor required from', de: 'Zweiter Faktor erforderlich ab' },
  created_at: { en: 'Created', de: 'Angelegt', file: true },
  updated_at: { en: 'Changed', de: 'Geändert' },
  last_login_at: { en: 'Last login', de: 'Letzte Anmeldung', column: 'sortable', file: true },
  last_login_ip: { en: 'Address of the last login', de: 'Adresse der letzten Anmeldung', file: true },
  last_seen_at: { en: 'Last seen', de: 'Zuletzt gesehen', file: true },
  password_changed_at: { en: 'Password set', de: 'Passwort gesetzt', file: true },
  locked_until: { en: 'Locked until', de: 'Gesperrt bis' },
  deleted_at: { en: 'Deleted', de: 'Gelöscht' },
} as const satisfies Record<Exclude<keyof components['schemas']['UserResponse'], Unnamed>, FieldDefinition>;

type Fields = typeof userFields;

/** Names of the fields that have this property. */
export type FieldWith<Property extends keyof FieldDefinition> = {
  [Name in keyof Fields]: Fields[Name] extends Record<Property, unknown> ? Name : never;
}[keyof Fields];

/** Returns the names of the fields that have this property, in the order of the table. */
export function fieldsWith<Property extends keyof FieldDefinition>(property: Property): FieldWith<Property>[] {
  return (Object.keys(userFields) as (keyof Fields)[]).filter((name) => property in userFields[name]) as never[];
}

/** A text about the person, which the form of a user and the profile show as an input. */
export type PersonField = FieldWith<'person'>;
/** The texts about the person. */
export const personFields = fieldsWith('person');

/** Columns that an import reads, in the order of an export. */
export const importColumns = [...fieldsWith('file'), 'password_hash'];

/** Labels of the fields, by language. */
export const fieldLabels = { en: labelsIn('en'), de: labelsIn('de') };

function labelsIn(language: 'en' | 'de'): Record<keyof Fields, string> {
  const labels = Object.entries<FieldDefinition>(userFields).map(([name, field]) => [name, field[language]]);
  return Object.fromEntries(labels) as Record<keyof Fields, string>;
}
