import { type Components, refTo, type Schema } from './document-types';

/** An enum of the document. */
interface NamedEnum {
  description: string;
  /** the first value is the example */
  values: readonly string[];
  default?: string;
  /** distinguishes the constants of the enum: in Go, all enums of a package share one namespace */
  constants?: string;
}

/**
 * Names, descriptions and values of all enums.
 * Generated clients have one type per name, instead of one per field.
 */
const enums: Record<string, NamedEnum> = {
  UserType: { description: 'Kind of user', values: ['carrier', 'system'] },
  UserStatus: {
    description: 'State of a user: `invited` users have no password yet, `disabled` users cannot log in',
    values: ['active', 'invited', 'disabled'],
  },
  ActorType: {
    description: 'Kind of actor: a user, an API key or the service',
    values: ['user', 'key', 'system'],
    constants: 'ACTOR',
  },
  OperationActorType: {
    description: 'Kind of actor of an operation',
    values: ['user', 'key'],
    constants: 'REQUESTED_BY',
  },
  OperationKind: { description: 'Kind of operation', values: ['change', 'delete', 'undo', 'import'] },
  OperationStatus: {
    description: 'State of an operation',
    values: ['receiving', 'waiting', 'running', 'done', 'canceled', 'failed'],
  },
  SessionEndReason: {
    description: 'Why a session ended',
    values: [
      'revoked',
      'logout',
      'expired',
      'replaced',
      'token_reuse',
      'password_changed',
      'ip_not_allowed',
      'user_disabled',
      'user_deleted',
      'factors_changed',
      'secured',
    ],
  },
  FactorMethod: {
    description: 'What can complete a login: an authenticator app, a passkey or a recovery code',
    values: ['totp', 'passkey', 'recovery_code'],
    constants: 'METHOD',
  },
  FactorsDecision: { description: 'Whether factors are kept', values: ['keep', 'remove_all'], constants: 'FACTORS' },
  KeysDecision: { description: 'Whether API keys are kept', values: ['keep', 'suspend'], constants: 'KEYS' },
  FactorKind: { description: 'Kind of second factor', values: ['totp', 'passkey'] },
  RefreshTokenTransport: {
    description: 'How the refresh token is sent, if not in the body',
    values: ['cookie'],
    constants: 'TRANSPORT',
  },
  CountRelation: { description: 'Whether a total is exact or an estimate', values: ['eq', 'approx'] },
  CountMode: { description: 'How a total is counted', values: ['estimated', 'exact', 'none'], default: 'estimated' },
  SortDirection: { description: 'Direction of a sort', values: ['asc', 'desc'], default: 'desc' },
  UserSort: {
    description: 'Sort fields of users',
    values: [
      'created_at',
      'updated_at',
      'name',
      'email',
      'last_name',
      'last_login_at',
      'last_seen_at',
      'status',
      'carrier_id',
      'deleted_at',
    ],
    default: 'created_at',
    constants: 'USERS_BY',
  },
  SessionSort: {
    description: 'Sort fields of sessions',
    values: ['created_at', 'last_seen_at', 'expires_at'],
    default: 'created_at',
    constants: 'SESSIONS_BY',
  },
  ApiKeySort: {
    description: 'Sort fields of API keys',
    values: ['created_at', 'name', 'expires_at', 'last_used_at'],
    default: 'created_at',
    constants: 'API_KEYS_BY',
  },
  OperationSort: {
    description: 'Sort fields of operations',
    values: ['created_at'],
    default: 'created_at',
    constants: 'OPERATIONS_BY',
  },
  EventSort: {
    description: 'Sort fields of events',
    values: ['occurred_at'],
    default: 'occurred_at',
    constants: 'EVENTS_BY',
  },
  MailSort: {
    description: 'Sort fields of mails',
    values: ['created_at', 'next_attempt_at'],
    default: 'created_at',
    constants: 'MAILS_BY',
  },
  MailKind: {
    description: 'Kind of mail',
    values: [
      'invitation',
      'reset',
      'email-confirmation',
      'enrollment-code',
      'password-changed',
      'email-change-notice',
      'token-reuse',
      'factor-enrolled',
      'factor-removed',
      'factors-reset',
      'recovery-code-used',
      'recovery-codes-low',
      'recovery-codes-renewed',
      'passkey-counter',
      'second-step-missing',
      'new-address-login',
      'secured',
    ],
    constants: 'MAIL_KIND',
  },
  LinkKind: { description: 'What a link sets', values: ['reset', 'invitation', 'not_me'], constants: 'LINK' },
  MailState: {
    description: 'State of a mail that is not sent yet',
    values: ['waiting', 'retrying', 'sending', 'failed'],
    constants: 'MAIL',
  },
  AttentionKind: {
    description: 'What needs attention',
    values: ['users_locked', 'users_must_enroll', 'api_keys_expiring', 'mails_failed'],
    constants: 'ATTENTION',
  },
  ExportFormat: { description: 'Format of an export', values: ['csv', 'ndjson'], default: 'csv' },
  ConflictRule: {
    description: 'Outcome of a row that conflicts with an existing user',
    values: ['fail', 'skip'],
    default: 'fail',
  },
};

const key = (values: readonly unknown[]) => JSON.stringify([...values].sort());
const names = new Map(Object.entries(enums).map(([name, { values }]) => [key(values), name]));

/** Returns an example for a reference to an enum, or undefined for other references. */
export function exampleOfEnum(ref: string): unknown {
  const found = enums[ref.split('/').at(-1) ?? ''];
  return found?.default ?? found?.values[0];
}

/**
 * Replaces each enum by a reference to a named schema, and an enum of one value without a name by
 * `const`.
 */
export function nameEnums(components: Components, root: unknown): void {
  replaceEnums(root);
  for (const [name, { values, constants, ...rest }] of Object.entries(enums))
    components.schemas[name] = {
      ...{ type: 'string', enum: [...values], example: exampleOfEnum(name), ...rest },
      ...(constants === undefined
        ? {}
        : { 'x-enum-varnames': values.map((value) => `${constants}_${value.toUpperCase().replaceAll('-', '_')}`) }),
    };
}

function replaceEnums(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [name, child] of Object.entries(node)) {
    if (name === 'example' || name === 'examples') continue;
    if (isEnum(child)) Object.assign(node, { [name]: named(child) });
    else replaceEnums(child);
  }
}

function isEnum(node: unknown): node is Schema & { enum: unknown[] } {
  const { type, enum: values } = (node ?? {}) as Schema;
  return Array.isArray(values) && [type].flat().includes('string');
}

function named(schema: Schema & { enum: unknown[] }): Schema {
  const values = schema.enum.filter((value) => value !== null);
  const name = names.get(key(values));
  const { description, type } = schema;
  const texts = description === undefined ? {} : { description };
  if (name === undefined) return values.length === 1 ? { type, const: values[0], ...texts } : schema;
  const ref = refTo('schemas', name);
  return [type].flat().includes('null') ? { anyOf: [ref, { type: 'null' }], ...texts } : { ...ref, ...texts };
}
