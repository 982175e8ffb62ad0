// Generated from openapi.json by `npm run generate`. Do not edit.

/** Filters of `listEvents`. */
export const listEventsFilters = {
  event_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  event_type: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  occurred_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  actor_id: { kind: 'id', operators: ['', '_ne', '_in', '_isnull'] },
  actor_type: { kind: 'choice', choices: ['user', 'key', 'system'], operators: ['', '_ne', '_in'] },
  target_type: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  target_id: { kind: 'id', operators: ['', '_ne', '_in', '_isnull'] },
  carrier_id: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  operation_id: { kind: 'id', operators: ['', '_ne', '_in', '_isnull'] },
  session_id: { kind: 'id', operators: ['', '_ne', '_in', '_isnull'] },
  ip: { kind: 'text', operators: ['', '_ne', '_in', '_isnull'] },
  request_id: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
} as const;

/** Filters of `listChanges`. */
export const listChangesFilters = {
  type: {
    kind: 'choice',
    choices: [
      'user.created',
      'user.changed',
      'user.deleted',
      'user.restored',
      'user.secured',
      'user.purged',
      'user.invited',
      'user.unlocked',
      'user.email_confirmed',
      'mail.retried',
      'factor.recovery_code_used',
      'password.reset_requested',
      'password.changed',
      'password.reset',
      'factor.enrolled',
      'factor.renamed',
      'factor.removed',
      'factor.reset',
      'factor.counter_went_back',
      'factor.recovery_codes_renewed',
      'session.ended',
      'session.token_reused',
      'role.created',
      'role.changed',
      'role.deleted',
      'key.created',
      'key.resumed',
      'key.rotated',
      'key.revoked',
    ],
    operators: ['', '_in'],
  },
  target_type: { kind: 'choice', choices: ['user', 'session', 'role', 'key'], operators: ['', '_in'] },
  carrier_id: { kind: 'text', operators: ['', '_in'] },
} as const;

/** Filters of `listSessions`. */
export const listSessionsFilters = {
  session_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  user_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  user_type: { kind: 'choice', choices: ['carrier', 'system'], operators: ['', '_ne', '_in'] },
  name: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  email: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  carrier_id: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  ip: { kind: 'text', operators: ['', '_ne', '_in', '_isnull'] },
  user_agent: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  active: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  mfa: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  ended_reason: {
    kind: 'choice',
    choices: [
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
    operators: ['', '_ne', '_in', '_isnull'],
  },
  created_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  last_seen_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  expires_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
} as const;

/** Filters of `listApiKeys`. */
export const listApiKeysFilters = {
  key_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  name: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  permission: { kind: 'text', operators: ['', '_in'] },
  user_type: { kind: 'choice', choices: ['carrier', 'system'], operators: ['', '_ne', '_in'] },
  carrier_id: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  active: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  created_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  created_by: { kind: 'id', operators: ['', '_ne', '_in'] },
  expires_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  last_used_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  last_used_ip: { kind: 'text', operators: ['', '_ne', '_in', '_isnull'] },
  revoked_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  revoked_by: { kind: 'id', operators: ['', '_ne', '_in', '_isnull'] },
} as const;

/** Filters of `listAddressBlocks`. */
export const listAddressBlocksFilters = {
  address_block_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  network: { kind: 'text', operators: ['', '_ne', '_in'] },
  created_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  created_by: { kind: 'id', operators: ['', '_ne', '_in'] },
  expires_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
} as const;

/** Filters of `listOperations`. */
export const listOperationsFilters = {
  operation_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  kind: { kind: 'choice', choices: ['change', 'delete', 'undo', 'import'], operators: ['', '_ne', '_in'] },
  status: {
    kind: 'choice',
    choices: ['receiving', 'waiting', 'running', 'done', 'canceled', 'failed'],
    operators: ['', '_ne', '_in'],
  },
  actor_type: { kind: 'choice', choices: ['user', 'key'], operators: ['', '_ne', '_in'] },
  actor_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  undo_of: { kind: 'id', operators: ['', '_ne', '_in', '_isnull'] },
  created_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  finished_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
} as const;

/** Filters of `exportUsers`. */
export const exportUsersFilters = {
  user_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  user_type: { kind: 'choice', choices: ['carrier', 'system'], operators: ['', '_ne', '_in'] },
  status: { kind: 'choice', choices: ['active', 'invited', 'disabled'], operators: ['', '_ne', '_in'] },
  name: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  email: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  first_name: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  last_name: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  phone: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  job_title: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  department: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  locale: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  timezone: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  carrier_id: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  role: { kind: 'text', operators: ['', '_in'] },
  online: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  last_login_ip: { kind: 'text', operators: ['', '_ne', '_in', '_isnull'] },
  must_change_password: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  has_second_factor: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  must_enroll_second_factor: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  created_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  updated_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  last_login_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  last_seen_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  password_changed_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  locked_until: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  q: { kind: 'text', operators: [''] },
} as const;

/** Filters of `listUsers`. */
export const listUsersFilters = {
  user_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  user_type: { kind: 'choice', choices: ['carrier', 'system'], operators: ['', '_ne', '_in'] },
  status: { kind: 'choice', choices: ['active', 'invited', 'disabled'], operators: ['', '_ne', '_in'] },
  name: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  email: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  first_name: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  last_name: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  phone: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  job_title: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  department: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  locale: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  timezone: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  carrier_id: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  role: { kind: 'text', operators: ['', '_in'] },
  online: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  last_login_ip: { kind: 'text', operators: ['', '_ne', '_in', '_isnull'] },
  must_change_password: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  has_second_factor: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  must_enroll_second_factor: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  created_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  updated_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  last_login_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  last_seen_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  password_changed_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  locked_until: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
  deleted_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  q: { kind: 'text', operators: [''] },
} as const;

/** Filters of `listCarriers`. */
export const listCarriersFilters = { carrier_id: { kind: 'text', operators: ['', '_ne', '_in', '_like'] } } as const;

/** Filters of `listWebhooks`. */
export const listWebhooksFilters = {
  webhook_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  url: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  state: { kind: 'choice', choices: ['active', 'failing', 'disabled'], operators: ['', '_ne', '_in'] },
  disabled_reason: {
    kind: 'choice',
    choices: ['requested', 'gone', 'failed', 'creator', 'not_me'],
    operators: ['', '_ne', '_in', '_isnull'],
  },
  created_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  created_by: { kind: 'id', operators: ['', '_ne', '_in'] },
} as const;

/** Filters of `listDeliveries`. */
export const listDeliveriesFilters = {
  kind: { kind: 'choice', choices: ['change', 'test', 'retry'], operators: ['', '_ne', '_in'] },
  change_id: { kind: 'id', operators: ['', '_ne', '_in', '_isnull'] },
  type: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  failed: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  created_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
} as const;

/** Filters of `listMails`. */
export const listMailsFilters = {
  mail_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  kind: {
    kind: 'choice',
    choices: [
      'invitation',
      'reset',
      'secured',
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
      'webhook-disabled',
    ],
    operators: ['', '_ne', '_in'],
  },
  state: { kind: 'choice', choices: ['waiting', 'retrying', 'sending', 'failed'], operators: ['', '_ne', '_in'] },
  failing: { kind: 'boolean', operators: ['', '_ne', '_in'] },
  user_id: { kind: 'id', operators: ['', '_ne', '_in'] },
  carrier_id: { kind: 'text', operators: ['', '_ne', '_in', '_isnull', '_like'] },
  recipient: { kind: 'text', operators: ['', '_ne', '_in', '_like'] },
  created_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte'] },
  next_attempt_at: { kind: 'time', operators: ['', '_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull'] },
} as const;
