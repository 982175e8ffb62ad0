import type { ErrorCode } from '../../http/errors/error-codes';
import type { Changes } from '../../audit/event.entity';
import type { OperationTimes } from '../operations/operations.repository';
import type { Grants } from '../../access/roles/roles.service';
import type { ChangeFoundUsersRequest, ChangeUserRequest } from '../users.dto';

/** Fields that can be changed on users, one or many. */
export type UserChange = ChangeUserRequest & ChangeFoundUsersRequest;

/** Changes fields of users. */
export interface ChangeAction {
  kind: 'change';
  change: UserChange;
  /** versions that the caller expects (`If-Match`); null = any */
  versions?: number[] | null;
  /**
   * set if the actor is the user and has just proven the password; the action then finds the user
   * only if that password is still in force
   */
  verified?: { password_changed_at: Date | null };
}

/** Deletes users softly. */
export interface DeleteAction {
  kind: 'delete';
  /** also finds users that are already deleted, because a purge removes the users afterwards */
  purge?: boolean;
  /** versions that the caller expects (`If-Match`); null = any */
  versions?: number[] | null;
  /**
   * skips users who have logged in since this time, because they are no longer as an import left
   * them
   */
  unused_since?: Date;
}

/** Restores the values that users had before an operation, or with `restores` deleted users. */
export interface UndoAction {
  kind: 'undo';
  operation_id: string;
  /** when the operation recorded the values */
  times: OperationTimes;
  restores: boolean;
}

/** What an actor does to one user, to a batch of users or to all matching users. */
export type UserAction = ChangeAction | DeleteAction | UndoAction;

/** An action that the actor may take in principle, with the roles that the actor may grant. */
export interface CheckedAction {
  action: UserAction;
  grants: Grants;
}

/** A user that an action skipped. */
export interface SkippedUser {
  user_id: string;
  /** error code of the rule */
  reason: ErrorCode;
  /** JSON pointer to the field, with `request.invalid` */
  pointer?: string;
}

/** What an action did to users, or would do. */
export interface ActionOutcome {
  /** number of users that the action found */
  matched: number;
  /** number of users that no rule protects, but that already have the requested values */
  unchanged: number;
  /** with `secure`: numbers of users with second factors, and with API keys that still work */
  with_factors: number;
  with_keys: number;
  /** number of skipped users by reason */
  skipped_reasons: Record<string, number>;
  /** the first 100 skipped users by id */
  skipped: SkippedUser[];
}

/** What an action did. */
export interface AppliedAction extends ActionOutcome {
  changed_ids: string[];
  /** users in `changed_ids` whose second factors the caller of the action must now remove */
  reset_ids: string[];
  /** users in `changed_ids` that are now disabled or deleted */
  shut_out_ids: string[];
  /** users in `changed_ids` that were disabled or deleted before */
  let_in_ids: string[];
  /** changes of one of the changed users */
  changes: Changes | null;
}

/** What an action would do. */
export interface PreviewedAction extends ActionOutcome {
  would_change: number;
  /** digest of the ids of all users that the action found */
  digest: string;
  previewed_at: Date;
  /** the first 20 users that would change, by id */
  sample_ids: string[];
}

/** Fields that actors may not change for themselves, and that decide who is an administrator. */
const powerFields: (keyof UserChange)[] = ['status', 'roles', 'roles_add', 'roles_remove', 'carrier_scope', 'secure'];

/** Fields that decide what a user may do, and who can log in as the user. */
const accessFields: (keyof UserChange)[] = [
  'roles',
  'roles_add',
  'roles_remove',
  'carrier_scope',
  'allowed_ips',
  'email',
  'second_factor_required_from',
];

/**
 * Returns whether a change or a deletion of one user, or a change in bulk, requires a fresh
 * authentication (S24). A change that the actor confirmed with the password does not. Bulk
 * deletions always require it and are checked by their service.
 */
export function needsFreshAuthentication(action: ChangeAction | DeleteAction): boolean {
  if (action.kind === 'delete') return action.purge === true;
  if (resetsFactors(action) || secures(action) || (action.change.status ?? 'disabled') !== 'disabled') return true;
  return action.verified === undefined && accessFields.some((field) => action.change[field] !== undefined);
}

/** Returns whether an action removes the second factors of users. */
export function resetsFactors(action: UserAction): boolean {
  return action.kind === 'change' && action.change.reset_second_factors === true;
}

/** Returns whether an action voids the passwords, links and sessions of users. */
export function secures(action: UserAction): boolean {
  return action.kind === 'change' && action.change.secure === true;
}

/** Returns whether an action mails invitations. */
export function invites(action: UserAction): boolean {
  return action.kind === 'change' && action.change.invite === true;
}

/**
 * Returns whether an action drops the proposed addresses of users: an undo, or a change of what
 * users may do or must have, unless the change itself proposes an address. If factors change, a
 * trigger drops the proposed address.
 */
export function voidsProposals(action: UserAction): boolean {
  if (action.kind !== 'change') return action.kind === 'undo';
  const { email, must_change_password, second_factor_required_from } = action.change;
  const isDemand = must_change_password !== undefined || second_factor_required_from !== undefined;
  return email === undefined && (isDemand || touchesPower(action.change));
}

/** Returns whether a change contains fields that actors may not change for themselves. */
export function touchesPower(change: UserChange): boolean {
  return powerFields.some((field) => change[field] !== undefined);
}
