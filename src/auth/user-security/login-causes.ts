import type { Lock } from '../passwords/login-attempts.repository';
import type { LoginCauseResponse } from './login-check.dto';
import type { BlockedAddress, CheckedUser, LoginEvent } from './login-check.repository';

/** What decides whether a user can log in. */
export interface LoginFacts {
  user: CheckedUser;
  /** lockouts in force */
  locks: Lock[];
  /** newest first */
  events: LoginEvent[];
  /** block of an address of the user */
  block: BlockedAddress | null;
  /** whether the caller may see address blocks */
  showsBlock: boolean;
}

type Cause = LoginCauseResponse | null;

/** The rules in the order of the response. */
const rules: ((facts: LoginFacts) => Cause)[] = [
  deleted,
  disabled,
  (facts) => locked(facts, false),
  (facts) => locked(facts, true),
  invited,
  passwordVoided,
  passwordExpired,
  addressNotAllowed,
  addressBlocked,
  passwordChangeRequired,
  enrollmentRequired,
];

/** Returns why a user cannot log in, or must do more than log in: blocking causes first. */
export function causesOf(facts: LoginFacts): LoginCauseResponse[] {
  const causes = rules.map((rule) => rule(facts)).filter((cause) => cause !== null);
  return [...causes.filter(({ blocks }) => blocks), ...causes.filter(({ blocks }) => !blocks)];
}

function deleted({ user: { deleted_at }, events }: LoginFacts): Cause {
  if (deleted_at === null) return null;
  return { code: 'deleted', blocks: true, ...originOf(events, 'deleted'), since: deleted_at, remedies: ['restore'] };
}

function disabled({ user: { status }, events }: LoginFacts): Cause {
  if (status !== 'disabled') return null;
  return { code: 'disabled', blocks: true, ...originOf(events, 'disabled'), remedies: ['enable'] };
}

/** A known address has its own lockout, and so have all other addresses together. */
function locked({ user, locks, events }: LoginFacts, of_codes: boolean): Cause {
  const [first, ...rest] = locks.filter((lock) => lock.of_codes === of_codes);
  if (first === undefined) return null;
  const all = [first, ...rest];
  const began = events.find(({ kind, event_type }) =>
    of_codes ? event_type === 'login.second_factor_failed' : kind === 'locked',
  );
  const addresses = all.map(({ address }) => address).filter((address) => address !== '');
  return {
    code: of_codes ? 'codes_locked' : 'locked',
    // Codes are only asked for if the user has a second factor.
    blocks: !hasPasskey(user) && (!of_codes || user.second_factors.length > 0),
    ...(began && { since: began.occurred_at }),
    ...(!first.permanent && { until: first.locked_until }),
    evidence: {
      failures: Math.max(...all.map(({ failures }) => failures)),
      unknown_addresses: first.address === '',
      addresses,
      ...(began?.ip && { ip: began.ip }),
    },
    remedies: ['unlock'],
  };
}

function invited({ user: { status, invitation, invited_at, invitation_expires_at } }: LoginFacts): Cause {
  if (status !== 'invited') return null;
  const isOver = invitation === 'expired';
  const since = isOver ? invitation_expires_at : invited_at;
  return {
    code: isOver ? 'invitation_expired' : 'invited',
    blocks: true,
    ...(since && { since }),
    ...(!isOver && invitation_expires_at && { until: invitation_expires_at }),
    evidence: { invitation },
    remedies: ['invite', 'correct_email'],
  };
}

function passwordVoided({ user, events }: LoginFacts): Cause {
  if (user.status === 'invited' || user.password !== 'voided') return null;
  return {
    code: 'password_voided',
    blocks: !hasPasskey(user),
    ...originOf(events, 'secured'),
    remedies: ['secure', 'correct_email'],
  };
}

function passwordExpired({ user }: LoginFacts): Cause {
  if (user.status === 'invited' || user.password !== 'expired') return null;
  return {
    code: 'password_expired',
    blocks: !hasPasskey(user),
    ...(user.password_expires_at && { since: user.password_expires_at }),
    remedies: ['secure', 'correct_email'],
  };
}

/** Compares with the current list: a login may have been rejected before the list was widened. */
function addressNotAllowed({ user: { allowed_ips, last_login_at }, events }: LoginFacts): Cause {
  const last = events.find(({ reason }) => reason === 'auth.ip_not_allowed');
  if (last === undefined || !last.outside) return null;
  if (last_login_at !== null && last_login_at >= last.occurred_at) return null;
  return {
    code: 'address_not_allowed',
    blocks: true,
    since: last.occurred_at,
    evidence: { ...(last.ip !== null && { ip: last.ip }), allowed_ips },
    remedies: ['change_allowed_ips'],
  };
}

/** A block of an attacker's address does not block a user who logs in from elsewhere. */
function addressBlocked({ block, showsBlock }: LoginFacts): Cause {
  if (block === null) return null;
  const { blocks, created_at: since, expires_at: until, ip, network, address_block_id } = block;
  const evidence = { ip, ...(showsBlock && { network, address_block_id }) };
  return { code: 'address_blocked', blocks, since, until, evidence, remedies: ['remove_address_block'] };
}

function passwordChangeRequired({ user }: LoginFacts): Cause {
  if (!user.must_change_password) return null;
  return { code: 'password_change_required', blocks: false, remedies: [] };
}

function enrollmentRequired({ user }: LoginFacts): Cause {
  if (!user.must_enroll_second_factor) return null;
  return { code: 'second_factor_enrollment_required', blocks: false, remedies: [] };
}

/** A passkey logs in without a password, and passes the second step without a code. */
function hasPasskey({ second_factors }: CheckedUser): boolean {
  return second_factors.includes('passkey');
}

/** Returns the time, the actor and the operation of the newest event of a kind. */
function originOf(
  events: LoginEvent[],
  kind: LoginEvent['kind'],
): Pick<LoginCauseResponse, 'since' | 'by' | 'evidence'> {
  const event = events.find((one) => one.kind === kind);
  if (event === undefined) return {};
  const { occurred_at: since, actor_type, actor_id, actor_name: name, operation_id } = event;
  return { since, by: { actor_type, actor_id, name }, ...(operation_id !== null && { evidence: { operation_id } }) };
}
