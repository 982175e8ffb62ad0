import { Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schema } from '../api/client';
import { operationPermissions } from '../pages';
import { own } from '../own';
import { rolePath } from '../roles/role-links';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import classes from './audit.module.css';
import { auditTexts as de } from './texts.de';
import { auditTexts as en } from './texts.en';

/** An event of the API. */
export type AuditEvent = Schema<'EventResponse'>;
/** Names of users by id. */
export type Names = Record<string, string>;

const shortLength = 8;
/** Shortens an id to its end: ids are UUIDv7, so ids of the same time share their beginning. */
const short = (id: string) => `…${id.slice(-shortLength)}`;

/** Returns the ids of the users that an event names. */
export function usersOf({ actor_type, actor_id, target_type, target_id, changes }: AuditEvent): (string | null)[] {
  const ofTarget = target_type === 'user' || target_type === 'login' ? target_id : null;
  return [actor_type === 'user' ? actor_id : null, ofTarget, sessionUserOf({ changes })];
}

/** Names the actor of an event, with a link to it. */
export function ActorText({ event, names }: { event: AuditEvent; names: Names }): ReactNode {
  const texts = useTexts({ en, de });
  const { actor_type, actor_id } = event;
  if (actor_type === 'user' && actor_id !== null) return <UserLink id={actor_id} names={names} />;
  if (actor_type === 'key' && actor_id !== null)
    return <KindLink kind={texts.actorType.key} id={actor_id} to={`/api-keys/${actor_id}`} needs={['key:manage']} />;
  // Events of jobs have no address.
  return (
    <Text inherit span>
      {event.ip === null ? texts.service : texts.anonymous}
    </Text>
  );
}

/** Names the target of an event, with a link to it. */
export function TargetText({ event, names }: { event: AuditEvent; names: Names }): ReactNode {
  const texts = useTexts({ en, de });
  const { target_type: kind, target_id: id, changes } = event;
  if (id === null && kind !== 'role')
    return (
      <Text inherit c="dimmed">
        {kind === 'login' ? texts.unknown : '–'}
      </Text>
    );
  const name = own(texts.targetType, kind ?? '') ?? kind ?? '';
  switch (kind) {
    case 'user':
    case 'login':
      return <UserLink id={id ?? ''} names={names} />;
    case 'session': {
      const user = sessionUserOf({ changes });
      return (
        <>
          <KindLink kind={name} id={id ?? ''} to={sessionPath(id ?? '')} needs={['session:read']} />
          {user !== null && (
            <Text component="div" size="xs">
              <UserLink id={user} names={names} />
            </Text>
          )}
        </>
      );
    }
    case 'operation':
      return <KindLink kind={name} id={id ?? ''} to={`/operations/${id}`} needs={operationPermissions} />;
    case 'role':
      return <KindLink kind={name} id={roleOf(changes)} to={rolePath(roleOf(changes))} needs={['role:read']} whole />;
    case 'key':
      return <KindLink kind={name} id={id ?? ''} to={`/api-keys/${id}`} needs={['key:manage']} />;
    case 'webhook':
      return <KindLink kind={name} id={id ?? ''} to={`/webhooks/${id}`} needs={['webhook:manage']} />;
    default:
      return (
        <>
          {name} <span className={classes.mono}>{short(id ?? '')}</span>
        </>
      );
  }
}

/** Returns the path of the list that shows a session, live or ended. */
export function sessionPath(session_id: string): string {
  return `/sessions?${new URLSearchParams({ session_id, state: 'all' })}`;
}

function UserLink({ id, names }: { id: string; names: Names }): ReactNode {
  const { can } = useMe();
  const name = names[id] ?? short(id);
  if (!can('user:read')) return name;
  return (
    <Anchor component={Link} to={`/users/${id}`} inherit className={names[id] === undefined ? classes.mono : undefined}>
      {name}
    </Anchor>
  );
}

interface KindLinkProps {
  kind: string;
  id: string;
  to: string;
  /** permissions of which the user needs at least one */
  needs: readonly string[];
  /** whether to show the whole id, because it is a name */
  whole?: boolean;
}

function KindLink({ kind, id, to, needs, whole = false }: KindLinkProps): ReactNode {
  const { canAny } = useMe();
  const text = (
    <>
      {kind} <span className={whole ? undefined : classes.mono}>{whole ? id : short(id)}</span>
    </>
  );
  if (!canAny(needs)) return text;
  return (
    <Anchor component={Link} to={to} inherit>
      {text}
    </Anchor>
  );
}

interface Sides {
  before?: unknown;
  after?: unknown;
}

function sideOf(changes: AuditEvent['changes'], key: string): string | null {
  const { before, after } = (changes as Record<string, Sides | undefined>)[key] ?? {};
  const value = after ?? before;
  return typeof value === 'string' ? value : null;
}

const sessionUserOf = ({ changes }: Pick<AuditEvent, 'changes'>) => sideOf(changes, 'user_id');
const roleOf = (changes: AuditEvent['changes']) => sideOf(changes, 'name') ?? '';
