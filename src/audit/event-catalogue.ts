import { namedEnum } from '../platform/named-enum';

/** Fields of a user that describe the person. */
const profile = [
  'name',
  'email',
  'first_name',
  'last_name',
  'phone',
  'job_title',
  'department',
  'locale',
  'timezone',
  'allowed_ips',
  'attributes',
] as const;

/** Fields of a user that decide what the user may do. */
const rights = ['roles', 'carrier_scope', 'status', 'must_change_password', 'second_factor_required_from'] as const;

const roleFields = {
  impersonal: ['name', 'description', 'user_types', 'permissions', 'may_grant', 'second_factor_required_from'],
} as const;
const webhookFields = {
  impersonal: ['url', 'description', 'type_in', 'carrier_scope', 'include_values'],
} as const;
const factorFields = { personal: ['name'], impersonal: ['factor_id', 'kind'] } as const;

/** What an event means, and the keys of its `changes`. */
export interface EventDefinition {
  /** one sentence for readers of the audit log */
  meaning: string;
  /** keys of `changes` that describe a person; erased when the person is purged */
  personal?: readonly string[];
  /** keys of `changes` that stay when the person is purged */
  impersonal?: readonly string[];
}

/** All events that the service records: their meaning and the keys of `changes`. */
export const eventCatalogue = {
  'user.created': {
    meaning: 'A user was created, individually or by an import.',
    personal: profile,
    impersonal: ['user_type', 'carrier_id', ...rights],
  },
  'user.changed': { meaning: 'Fields of a user changed.', personal: [...profile, 'email_pending'], impersonal: rights },
  'user.deleted': { meaning: 'A user was deleted and can be restored.', impersonal: ['deleted_at'] },
  'user.restored': { meaning: 'A deleted user was restored.', impersonal: ['deleted_at', 'roles'] },
  'user.secured': {
    meaning: 'The account of a user was secured. `factors` were removed and `keys` suspended with it.',
    personal: ['password_changed_at', 'factors'],
    impersonal: ['keys'],
  },
  'user.purged': { meaning: 'A user was removed permanently.' },
  'user.invited': { meaning: 'A user was invited again by mail.' },
  'user.exported': { meaning: 'Users were exported to a file.', impersonal: ['count', 'format', 'hashes', 'filter'] },
  'user.import_previewed': {
    meaning: 'An import was checked in a dry run.',
    impersonal: ['rows', 'would_create', 'conflicts'],
  },
  'user.unlocked': { meaning: 'The lockouts after wrong passwords and wrong codes were lifted.' },
  'user.email_confirmed': { meaning: 'A user confirmed a new e-mail address.', personal: ['email'] },
  'mail.retried': {
    meaning: 'A retry of a waiting or failed mail to a user was requested.',
    impersonal: ['mail_id', 'kind'],
  },
  'login.succeeded': { meaning: 'A user logged in.' },
  'login.failed': { meaning: 'A login was rejected.', personal: ['login', 'reason'] },
  'login.locked': { meaning: 'Failed logins locked an account.', personal: ['login', 'failures', 'locked_until'] },
  'login.challenged': { meaning: 'A user entered the right password. A second factor must follow.' },
  'login.second_factor_failed': {
    meaning: 'A second factor was rejected, at a login or a reauthentication.',
    personal: ['reason', 'failures', 'locked_until'],
  },
  'login.reauthenticated': { meaning: 'A user authenticated again in a session.' },
  'factor.recovery_code_used': {
    meaning: 'A user used a recovery code instead of a second factor.',
    impersonal: ['codes_left'],
  },
  'password.reset_requested': { meaning: 'A link to reset a password was requested.' },
  'password.changed': { meaning: 'A user changed their password.' },
  'password.reset': {
    meaning: 'A user set a password with a link. `keys` names the API keys of the user that still work.',
    personal: ['email'],
    impersonal: ['keys'],
  },
  'factor.enrolled': { meaning: 'A user confirmed a second factor.', ...factorFields },
  'factor.renamed': { meaning: 'A user renamed a second factor.', ...factorFields },
  'factor.removed': { meaning: 'A user removed a second factor.', ...factorFields },
  'factor.reset': {
    meaning: 'All second factors of a user were removed by an administrator or from the command line.',
    impersonal: ['kinds'],
  },
  'factor.counter_went_back': {
    meaning: 'A passkey was rejected because its signature counter went back: it may have been cloned.',
    impersonal: ['factor_id', 'counter'],
  },
  'factor.recovery_codes_renewed': { meaning: 'A user replaced their recovery codes.' },
  'session.ended': { meaning: 'A session was ended.', personal: ['user_id'], impersonal: ['ended_reason'] },
  'session.token_reused': {
    meaning: 'A refresh token was replayed, which ended its session.',
    personal: ['user_id'],
  },
  'operation.accepted': {
    meaning: 'An operation on many users was accepted.',
    impersonal: ['kind', 'matched', 'filters'],
  },
  'operation.skipped_exported': {
    meaning: 'The rows that an import skipped were exported to a file.',
    impersonal: ['count'],
  },
  'operation.canceled': { meaning: 'An operation was canceled.' },
  'role.created': { meaning: 'A role was created.', ...roleFields },
  'role.changed': { meaning: 'A role changed.', ...roleFields },
  'role.deleted': { meaning: 'A role was deleted.', ...roleFields },
  'key.created': {
    meaning: 'An API key was created.',
    impersonal: ['name', 'permissions', 'carrier_scope', 'expires_at'],
  },
  'key.resumed': { meaning: 'A suspended API key was resumed.', impersonal: ['name'] },
  'key.rotated': {
    meaning: 'The secret of an API key was replaced.',
    impersonal: ['name', 'previous_until', 'expires_at'],
  },
  'key.revoked': { meaning: 'An API key was revoked.', impersonal: ['name'] },
  'address_block.created': {
    meaning: 'Logins and password resets from a network were blocked.',
    impersonal: ['network', 'reason', 'expires_at'],
  },
  'address_block.removed': { meaning: 'The block of a network was removed.', impersonal: ['network', 'reason'] },
  'webhook.created': { meaning: 'A webhook was created.', ...webhookFields },
  'webhook.changed': { meaning: 'The settings of a webhook changed.', ...webhookFields },
  'webhook.deleted': { meaning: 'A webhook was deleted.', impersonal: ['url'] },
  'webhook.enabled': { meaning: 'A webhook was enabled.', impersonal: ['after'] },
  'webhook.disabled': { meaning: 'A webhook was disabled, by a user or by the service.', impersonal: ['reason'] },
  'webhook.replayed': { meaning: 'A webhook was moved to another place in the change feed.', impersonal: ['after'] },
  'webhook.skipped': { meaning: 'A webhook skipped a change that failed.', impersonal: ['change_id'] },
  'webhook.secret_rotated': { meaning: 'The secret of a webhook was replaced.' },
  'database.restored': {
    meaning:
      'The command `after-restore` ended sessions, links and signing keys, and suspended API keys. ' +
      'Changes after `restored_to` are lost.',
    impersonal: ['restored_to', 'sessions', 'links', 'keys'],
  },
  'signing_key.rotated': {
    meaning: 'A new key signs access tokens, or is published to sign them later.',
    impersonal: ['kid', 'signs_from', 'revoked'],
  },
} as const satisfies Record<string, EventDefinition>;

/** Type of an event: its subject and a verb in the past tense, such as `user.created`. */
export type EventType = keyof typeof eventCatalogue;

/** Kind of the target of an event. */
export type TargetType =
  | 'user'
  | 'session'
  | 'login'
  | 'operation'
  | 'role'
  | 'key'
  | 'address_block'
  | 'webhook'
  | 'database'
  | 'signing_key';

/** Value of a field before and after a change. */
export interface Change {
  before?: unknown;
  after?: unknown;
}

type KeysIn<Definition, Name extends string> =
  Definition extends Record<Name, readonly (infer Key extends string)[]> ? Key : never;

/** Changes that an event of a type may record. */
export type ChangesOf<Type extends EventType, Definition = (typeof eventCatalogue)[Type]> = {
  [Key in KeysIn<Definition, 'personal'> | KeysIn<Definition, 'impersonal'>]?: Change;
};

/** Returns the kind of the target of an event: the subject of its type, or the affected user. */
export function targetOf(event_type: EventType): TargetType {
  const [subject = ''] = event_type.split('.');
  return ['mail', 'factor', 'password'].includes(subject) ? 'user' : (subject as TargetType);
}

/** Kinds of targets in the change feed. The index `events_changes_idx` must name the same kinds. */
export const changedTargets = namedEnum('ChangedTarget', ['user', 'session', 'role', 'key']);

/** Events about many users that change no user. They have no target. */
const reports: EventType[] = ['user.exported', 'user.import_previewed'];

/** Types of the events in the change feed. */
export const changeTypes: EventType[] = (Object.keys(eventCatalogue) as EventType[]).filter(
  (type) => (changedTargets as readonly string[]).includes(targetOf(type)) && !reports.includes(type),
);

/** Returns the keys of `changes` that a purge keeps, each as `event_type/key`. */
export function impersonalKeys(): string[] {
  return Object.entries<EventDefinition>(eventCatalogue).flatMap(([type, { impersonal = [] }]) =>
    impersonal.map((key) => `${type}/${key}`),
  );
}

/** Returns the meaning of each event type as a Markdown list. */
export function describeEvents(): string {
  return Object.entries(eventCatalogue)
    .map(([type, { meaning }]) => `- \`${type}\`: ${meaning}`)
    .join('\n');
}
