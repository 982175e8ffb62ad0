/** What can happen. The past tense of a verb after the noun it happened to. */
export type EventType =
  | 'user.created'
  | 'user.changed'
  | 'user.deleted'
  | 'user.restored'
  | 'user.purged'
  | 'user.invited'
  | 'user.exported'
  | 'user.import_previewed'
  | 'user.email_confirmed'
  | 'login.succeeded'
  | 'login.failed'
  | 'login.locked'
  | 'password.reset_requested'
  | 'password.changed'
  | 'password.reset'
  | 'operation.accepted'
  | 'operation.canceled'
  | 'role.created'
  | 'role.changed'
  | 'role.deleted'
  | 'key.created'
  | 'key.revoked'
  | 'session.ended'
  | 'session.token_reused'
  | 'signing_key.rotated';

/** Kind of the thing that an event is about. */
export type TargetType = 'user' | 'session' | 'login' | 'operation' | 'role' | 'key' | 'signing_key';
