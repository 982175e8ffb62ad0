import type { AuditEvent } from '../../audit/data';
import type { UserAction } from '../use-user-actions';
import { isLocked, type User } from '../user';

/** Why a user cannot log in, or what a login depends on. */
export type ObstacleKind =
  | 'deleted'
  | 'disabled'
  | 'locked'
  | 'lockedUntilReset'
  | 'lockedAddress'
  | 'lockedCodes'
  | 'invited'
  | 'invitationOld'
  | 'initialPasswordExpired'
  | 'addressRejected'
  | 'addressesLimited'
  | 'mustEnroll'
  | 'secondFactor'
  | 'mustChangePassword';

/** A remedy for an obstacle: an action, or another tab of the page of the user. */
export type Remedy = UserAction | TabRemedy;
/** A remedy on another tab. */
export type TabRemedy = 'editData' | 'editRoles' | 'showHistory';

/** One reason why a user may fail to log in. */
export interface Obstacle {
  kind: ObstacleKind;
  /** whether the obstacle prevents the login; otherwise the login only requires another step */
  isBlocking: boolean;
  /** time that the text names */
  time?: string;
  /** values that the text names, such as addresses */
  values?: string[];
  remedies: Remedy[];
}

/** Types of the events that explain failed logins. */
export const loginEvents = [
  'login.failed',
  'login.locked',
  'login.second_factor_failed',
  'login.succeeded',
  'user.invited',
  'user.unlocked',
];

/** Lifetime of an initial password, and default lifetime of an invitation. */
const linkLifeMs = 7 * 86_400_000;
/** Year of a lockout that only a reset of the password ends. */
const endlessYear = 9999;

/**
 * Returns why a user cannot log in, the blocking reasons first.
 * @param known events of the user, newest first; undefined if the caller may not read them
 */
export function obstaclesOf(user: User, known: AuditEvent[] | undefined, now = Date.now()): Obstacle[] {
  const events = known ?? [];
  if (user.deleted_at !== null) return [obstacle('deleted', true, ['restore'], { time: user.deleted_at })];
  const found = [
    ...(user.status === 'disabled' ? [obstacle('disabled', true, ['showHistory', 'enable'])] : []),
    ...lockouts(user, events, now),
    ...passwordObstacles(user, known, now),
    ...addressObstacles(user, events),
    ...factorObstacles(user),
  ];
  return found.sort((one, other) => Number(other.isBlocking) - Number(one.isBlocking));
}

function obstacle(
  kind: ObstacleKind,
  isBlocking: boolean,
  remedies: Remedy[] = [],
  details: { time?: string; values?: string[] } = {},
): Obstacle {
  return { kind, isBlocking, remedies, ...details };
}

function lockouts(user: User, events: AuditEvent[], now: number): Obstacle[] {
  const { locked_until } = user;
  if (isLocked(user) && locked_until !== null)
    return new Date(locked_until).getUTCFullYear() === endlessYear
      ? [obstacle('lockedUntilReset', true, ['resetMail', 'unlock'])]
      : [obstacle('locked', true, ['unlock', 'resetMail'], { time: locked_until })];
  const unlocked = events.find(({ event_type }) => event_type === 'user.unlocked')?.occurred_at ?? '';
  const current = (type: string) =>
    events.find(
      (event) =>
        event.event_type === type && event.occurred_at > unlocked && Date.parse(valueOf(event, 'locked_until')) > now,
    );
  const address = current('login.locked');
  const codes = current('login.second_factor_failed');
  return [
    ...(address === undefined
      ? []
      : [
          obstacle('lockedAddress', true, ['unlock'], {
            time: valueOf(address, 'locked_until'),
            values: [address.ip ?? '–'],
          }),
        ]),
    ...(codes === undefined
      ? []
      : [obstacle('lockedCodes', true, ['unlock', 'resetFactors'], { time: valueOf(codes, 'locked_until') })]),
  ];
}

function passwordObstacles(user: User, events: AuditEvent[] | undefined, now: number): Obstacle[] {
  if (user.status === 'invited') {
    // Creating a user records no invitation, and an import may send none.
    const time = events?.find(({ event_type }) => event_type === 'user.invited')?.occurred_at;
    const isOld = events !== undefined && Date.parse(time ?? user.created_at) + linkLifeMs < now;
    return [obstacle(isOld ? 'invitationOld' : 'invited', true, ['invite'], time === undefined ? {} : { time })];
  }
  const { must_change_password, last_login_at, password_changed_at } = user;
  if (!must_change_password) return [];
  const isUnused = last_login_at === null && password_changed_at !== null;
  if (isUnused && Date.parse(password_changed_at) + linkLifeMs < now)
    return [obstacle('initialPasswordExpired', true, ['resetMail'], { time: password_changed_at })];
  return [obstacle('mustChangePassword', false, ['resetMail'])];
}

function addressObstacles({ allowed_ips }: User, events: AuditEvent[]): Obstacle[] {
  if (allowed_ips.length === 0) return [];
  const last = events.find(({ event_type }) => event_type === 'login.failed' || event_type === 'login.succeeded');
  if (last !== undefined && valueOf(last, 'reason') === 'auth.ip_not_allowed')
    return [
      obstacle('addressRejected', true, ['editData'], {
        time: last.occurred_at,
        values: [last.ip ?? '–', ...allowed_ips],
      }),
    ];
  return [obstacle('addressesLimited', false, ['editData'], { values: allowed_ips })];
}

function factorObstacles(user: User): Obstacle[] {
  const { must_enroll_second_factor, second_factor_required_from, second_factors } = user;
  if (must_enroll_second_factor)
    return [obstacle('mustEnroll', false, [second_factor_required_from === null ? 'editRoles' : 'editData'])];
  return second_factors.length === 0
    ? []
    : [obstacle('secondFactor', false, ['resetFactors'], { values: second_factors })];
}

/** Returns the new value of a field of an event as text, or empty. */
export function valueOf({ changes }: AuditEvent, field: string): string {
  const change = changes[field] as { after?: unknown } | undefined;
  return typeof change?.after === 'string' ? change.after : '';
}
