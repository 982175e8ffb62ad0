import { Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { CutText } from '../components/lists/cut-text';
import { operationPermissions } from '../operations/permissions';
import { own } from '../own';
import { rolePath } from '../roles/role-links';
import { useMe } from '../session/use-me';
import classes from './audit.module.css';
import { type AuditEvent, type Names, recordedIn } from './data';
import { useAuditTexts } from './use-audit-texts';

const shortLength = 8;
/** Shortens an id to its end: ids are UUIDv7, so ids of the same time share their beginning. */
const short = (id: string) => `…${id.slice(-shortLength)}`;

/** Names the actor of an event, with a link to it. */
export function ActorText({ event, names }: { event: AuditEvent; names: Names }): ReactNode {
  const texts = useAuditTexts();
  const { actor_type, actor_id } = event;
  if (actor_type === 'user' && actor_id !== null) return <UserLink id={actor_id} names={names} />;
  if (actor_type === 'key' && actor_id !== null) return <KeyLink id={actor_id} names={names} />;
  // Events of jobs have no address.
  return (
    <Text inherit span style={{ whiteSpace: 'nowrap' }}>
      {event.ip === null ? texts.service : texts.anonymous}
    </Text>
  );
}

/** Names the target of an event, with a link to it. */
export function TargetText({ event, names }: { event: AuditEvent; names: Names }): ReactNode {
  const texts = useAuditTexts();
  const { target_type: kind, target_id: id, changes } = event;
  if (id === null && kind !== 'role')
    return (
      <Text inherit c="dimmed">
        {kind === 'login' ? texts.unknown : '–'}
      </Text>
    );
  const role = recordedIn(changes, 'name') ?? '';
  const name = own(texts.targetType, kind ?? '') ?? kind ?? '';
  switch (kind) {
    case 'user':
    case 'login':
      return <UserLink id={id ?? ''} names={names} />;
    case 'session': {
      const user = recordedIn(changes, 'user_id');
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
      return <OperationText operation_id={id ?? ''} />;
    case 'role':
      return <KindLink kind={name} name={role} to={rolePath(role)} needs={['role:read']} />;
    case 'key':
      return <KeyLink id={id ?? ''} names={names} />;
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

/** Names an operation, with a link to it. */
export function OperationText({ operation_id }: { operation_id: string }): ReactNode {
  const { operation } = useAuditTexts().targetType;
  const to = `/operations/${operation_id}`;
  return <KindLink kind={operation} id={operation_id} to={to} needs={operationPermissions} />;
}

function KeyLink({ id, names }: { id: string; names: Names }): ReactNode {
  const { key } = useAuditTexts().targetType;
  return <KindLink kind={key} id={id} name={names[id]} to={`/api-keys/${id}`} needs={['key:manage']} />;
}

function UserLink({ id, names }: { id: string; names: Names }): ReactNode {
  const { can } = useMe();
  const name = <CutText>{names[id] ?? short(id)}</CutText>;
  if (!can('user:read')) return name;
  return (
    <Anchor component={Link} to={`/users/${id}`} inherit className={names[id] === undefined ? classes.mono : undefined}>
      {name}
    </Anchor>
  );
}

interface KindLinkProps {
  kind: string;
  id?: string;
  /** absent = the end of the id */
  name?: string | undefined;
  to: string;
  /** permissions of which the user needs at least one */
  needs: readonly string[];
}

function KindLink({ kind, id = '', name, to, needs }: KindLinkProps): ReactNode {
  const { canAny } = useMe();
  const text = (
    <>
      {kind} {name === undefined ? <span className={classes.mono}>{short(id)}</span> : <CutText>{name}</CutText>}
    </>
  );
  if (!canAny(needs)) return text;
  return (
    <Anchor component={Link} to={to} inherit>
      {text}
    </Anchor>
  );
}
