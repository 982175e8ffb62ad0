/** Fields of a user that describe the person. */
const profile = [
  'name',
  'email',
  'first_name',
  'last_name',
  'phone',
  'job_title',
  'locale',
  'timezone',
  'allowed_ips',
  'attributes',
] as const;

/** Fields of a user that decide what the user may do. */
const rights = ['roles', 'carrier_scope', 'status', 'must_change_password', 'second_factor_required_from'] as const;

const noFields = { personal: [], impersonal: [] } as const;
const factorFields = { personal: ['name'], impersonal: ['factor_id', 'kind'] } as const;
const roleFields = {
  personal: [],
  impersonal: ['name', 'description', 'user_types', 'permissions', 'may_grant', 'second_factor_required_from'],
} as const;

/** Kind of the target of an event. */
export type TargetType = 'user' | 'session' | 'login' | 'operation' | 'role' | 'key' | 'signing_key';

interface EventDefinition {
  target: TargetType;
  /** one sentence for readers of the audit log */
  meaning: string;
  /** keys of `changes` that describe a person; erased when the person is purged */
  personal: readonly string[];
  /** keys of `changes` that stay when the person is purged */
  impersonal: readonly string[];
}

/** All events that the service records: target, meaning and the keys of `changes`. */
export const eventCatalogue = {
  'user.created': {
    target: 'user',
    meaning: 'A user was created, individually or by an import.',
    personal: profile,
    impersonal: ['user_type', 'carrier_id', ...rights],
  },
  'user.changed': {
    target: 'user',
    meaning: 'Fields of a user changed.',
    personal: [...profile, 'email_pending'],
    impersonal: rights,
  },
  'user.deleted': {
    target: 'user',
    meaning: 'A user was deleted and can be restored.',
    personal: [],
    impersonal: ['deleted_at'],
  },
  'user.restored': {
    target: 'user',
    meaning: 'A deleted user was restored.',
    personal: [],
    impersonal: ['deleted_at', 'roles'],
  },
  'user.secured': {
    target: 'user',
    meaning: 'The account of a user was secured. `factors` were removed and `keys` suspended with it.',
    personal: ['password_changed_at', 'factors'],
    impersonal: ['keys'],
  },
  'user.purged': { target: 'user', meaning: 'A user was removed permanently.', ...noFields },
  'user.invited': { target: 'user', meaning: 'A user was invited again by mail.', ...noFields },
  'user.exported': {
    target: 'user',
    meaning: 'Users were exported to a file.',
    personal: [],
    impersonal: ['count', 'format', 'hashes', 'filter'],
  },
  'user.import_previewed': {
    target: 'user',
    meaning: 'An import was checked in a dry run.',
    personal: [],
    impersonal: ['rows', 'would_create', 'conflicts'],
  },
  'user.unlocked': {
    target: 'user',
    meaning: 'The lockouts after wrong passwords and wrong codes were lifted.',
    ...noFields,
  },
  'user.email_confirmed': {
    target: 'user',
    meaning: 'A user confirmed a new e-mail address.',
    personal: ['email'],
    impersonal: [],
  },
  'mail.retried': {
    target: 'user',
    meaning: 'A retry of a waiting or failed mail to a user was requested.',
    personal: [],
    impersonal: ['mail_id', 'kind'],
  },
  'login.succeeded': { target: 'login', meaning: 'A user logged in.', ...noFields },
  'login.failed': {
    target: 'login',
    meaning: 'A login was rejected.',
    personal: ['login', 'reason'],
    impersonal: [],
  },
  'login.locked': {
    target: 'login',
    meaning: 'Failed logins locked an account.',
    personal: ['login', 'failures', 'locked_until'],
    impersonal: [],
  },
  'login.challenged': {
    target: 'login',
    meaning: 'A user entered the right password. A second factor must follow.',
    ...noFields,
  },
  'login.second_factor_failed': {
    target: 'login',
    meaning: 'A second factor was rejected, at a login or a reauthentication.',
    personal: ['reason', 'failures', 'locked_until'],
    impersonal: [],
  },
  'login.reauthenticated': { target: 'login', meaning: 'A user authenticated again in a session.', ...noFields },
  'factor.recovery_code_used': {
    target: 'user',
    meaning: 'A user used a recovery code instead of a second factor.',
    personal: [],
    impersonal: ['codes_left'],
  },
  'password.reset_requested': { target: 'user', meaning: 'A link to reset a password was requested.', ...noFields },
  'password.changed': { target: 'user', meaning: 'A user changed their password.', ...noFields },
  'password.reset': {
    target: 'user',
    meaning: 'A user set a password with a link. `keys` names the API keys of the user that still work.',
    personal: ['email'],
    impersonal: ['keys'],
  },
  'factor.enrolled': { target: 'user', meaning: 'A user confirmed a second factor.', ...factorFields },
  'factor.renamed': { target: 'user', meaning: 'A user renamed a second factor.', ...factorFields },
  'factor.removed': { target: 'user', meaning: 'A user removed a second factor.', ...factorFields },
  'factor.reset': {
    target: 'user',
    meaning: 'All second factors of a user were removed by an administrator or from the command line.',
    personal: [],
    impersonal: ['kinds'],
  },
  'factor.counter_went_back': {
    target: 'user',
    meaning: 'A passkey was rejected because its signature counter went back: it may have been cloned.',
    personal: [],
    impersonal: ['factor_id', 'counter'],
  },
  'factor.recovery_codes_renewed': {
    target: 'user',
    meaning: 'A user replaced their recovery codes.',
    ...noFields,
  },
  'session.ended': {
    target: 'session',
    meaning: 'A session was ended.',
    personal: ['user_id'],
    impersonal: ['ended_reason'],
  },
  'session.token_reused': {
    target: 'session',
    meaning: 'A refresh token was replayed, which ended its session.',
    personal: ['user_id'],
    impersonal: [],
  },
  'operation.accepted': {
    target: 'operation',
    meaning: 'An operation on many users was accepted.',
    personal: [],
    impersonal: ['kind', 'matched', 'filters'],
  },
  'operation.skipped_exported': {
    target: 'operation',
    meaning: 'The rows that an import skipped were exported to a file.',
    personal: [],
    impersonal: ['count'],
  },
  'operation.canceled': { target: 'operation', meaning: 'An operation was canceled.', ...noFields },
  'role.created': { target: 'role', meaning: 'A role was created.', ...roleFields },
  'role.changed': { target: 'role', meaning: 'A role changed.', ...roleFields },
  'role.deleted': { target: 'role', meaning: 'A role was deleted.', ...roleFields },
  'key.created': {
    target: 'key',
    meaning: 'An API key was created.',
    personal: [],
    impersonal: ['name', 'permissions', 'carrier_scope', 'expires_at'],
  },
  'key.resumed': { target: 'key', meaning: 'A suspended API key was resumed.', personal: [], impersonal: ['name'] },
  'key.revoked': { target: 'key', meaning: 'An API key was revoked.', personal: [], impersonal: ['name'] },
  'signing_key.rotated': {
    target: 'signing_key',
    meaning: 'A new key signs access tokens, or is published to sign them later.',
    personal: [],
    impersonal: ['kid', 'signs_from', 'revoked'],
  },
} as const satisfies Record<string, EventDefinition>;

type Catalogue = typeof eventCatalogue;

/** Type of an event: its subject and a verb in the past tense, such as `user.created`. */
export type EventType = keyof Catalogue;

/** Kind of the target of events of a type. */
export type TargetOf<Type extends EventType> = Catalogue[Type]['target'];

/** Value of a field before and after a change. */
export interface Change {
  before?: unknown;
  after?: unknown;
}

/** Changes that an event of a type may record. */
export type ChangesOf<Type extends EventType> = {
  [Key in Catalogue[Type]['personal' | 'impersonal'][number]]?: Change;
};

/** Returns the keys of `changes` that a purge keeps, each as `event_type/key`. */
export function impersonalKeys(): string[] {
  return Object.entries(eventCatalogue).flatMap(([type, { impersonal }]) => impersonal.map((key) => `${type}/${key}`));
}

/** Returns the meaning of each event type as a Markdown list. */
export function describeEvents(): string {
  return Object.entries(eventCatalogue)
    .map(([type, { meaning }]) => `- \`${type}\`: ${meaning}`)
    .join('\n');
}
