import { namedEnum } from '../../platform/named-enum';
import { UserMailResponse } from '../../users/mails/mails.dto';

/** Why a user cannot log in, or must do more than log in. In the order of the response. */
export const causeCodes = namedEnum('LoginCauseCode', [
  'deleted',
  'disabled',
  'locked',
  'codes_locked',
  'invited',
  'invitation_expired',
  'password_voided',
  'password_expired',
  'address_not_allowed',
  'address_blocked',
  'password_change_required',
  'second_factor_enrollment_required',
]);

/** An operation that removes a cause. */
export const remedyCodes = namedEnum('LoginRemedy', [
  'unlock',
  'enable',
  'invite',
  'restore',
  'correct_email',
  'secure',
  'change_allowed_ips',
  'remove_address_block',
]);

/** State of the link of an invitation. */
export const invitationStates = namedEnum('InvitationState', ['none', 'unsent', 'valid', 'expired']);

/** The actor that caused something. */
export class CauseActorResponse {
  /** kind of actor: a user, an API key or the service itself */
  actor_type!: 'user' | 'key' | 'system';
  /** id of the user or API key; null if the service acted */
  actor_id!: string | null;
  /** name of the user or API key; null if it is outside the scope of the caller, or was removed */
  name!: string | null;
}

/** What a cause is based on. Each cause has some of the fields. */
export class CauseEvidenceResponse {
  /** wrong passwords or codes in a row, for `locked` and `codes_locked` @example 5 */
  failures?: number;
  /** whether all addresses from which the user did not log in within 30 days are locked */
  unknown_addresses?: boolean;
  /** locked addresses from which the user logged in within 30 days @example ["203.0.113.7"] */
  addresses?: string[];
  /** address of the last rejected login, or the blocked address @example 203.0.113.7 */
  ip?: string;
  /** blocked network that contains the address; requires `address_block:manage` @example 203.0.113.0/24 */
  network?: string;
  /** address block of the network; requires `address_block:manage` */
  address_block_id?: string;
  /** networks from which the user may log in */
  allowed_ips?: string[];
  /** `none`: never invited; `unsent`: the mail waits for its first attempt @example valid */
  invitation?: (typeof invitationStates)[number];
  /** operation that changed the user */
  operation_id?: string;
}

/** One reason why a user cannot log in, or must do more than log in. */
export class LoginCauseResponse {
  /** later versions may add codes */
  code!: (typeof causeCodes)[number];
  /**
   * whether it prevents the login. False for a cause that only restricts the session, and if a
   * passkey of the user logs in despite the cause
   */
  blocks!: boolean;
  /** when it began, if that is known */
  since?: Date;
  /** when it ends by itself; absent if it does not */
  until?: Date;
  /** the actor that caused it, for `deleted`, `disabled` and `password_voided` */
  by?: CauseActorResponse;
  /** what it is based on */
  evidence?: CauseEvidenceResponse;
  /** operations that remove it; the caller may lack the permission */
  remedies!: (typeof remedyCodes)[number][];
}

/** A rejected login. */
export class LoginRefusalResponse {
  /** time of the login */
  occurred_at!: Date;
  /**
   * error code of the response, or what the response concealed: `disabled` for the right password
   * of a disabled user
   * @example auth.invalid_credentials
   */
  reason!: string;
  /** address of the client @example 203.0.113.7 */
  ip!: string | null;
}

/** Whether a user can log in, and why not. */
export class LoginCheckResponse {
  /** true if no cause blocks */
  can_log_in!: boolean;
  /** blocking causes first */
  causes!: LoginCauseResponse[];
  /** newest mails to the user, at most 10; only with `mail:manage` */
  mails?: UserMailResponse[];
  /** newest rejected logins, at most 10; only with `audit:read` */
  recent_refusals?: LoginRefusalResponse[];
}
