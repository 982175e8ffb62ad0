import { Anchor, Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useMe } from '../session/use-me';
import type { Operation } from './data';
import { useOperationsTexts } from './use-operations-texts';

/** Returns the title of an operation, such as "Change of 12 users". */
export function useOperationTitle({ kind, status, matched }: Operation): string {
  const texts = useOperationsTexts();
  return status === 'receiving' ? texts.receiving : texts.heading[kind](matched);
}

/** Names an operation, with a link to its page. */
export function OperationTitle({ operation }: { operation: Operation }): ReactNode {
  return (
    <Anchor component={Link} to={`/operations/${operation.operation_id}`} inherit fw={500}>
      {useOperationTitle(operation)}
    </Anchor>
  );
}

const colors: Record<Operation['status'], string> = {
  receiving: 'blue',
  waiting: 'blue',
  running: 'petrol',
  done: 'green',
  canceled: 'gray',
  failed: 'red',
};

/** Shows the status of an operation. */
export function OperationStatus({ status }: { status: Operation['status'] }): ReactNode {
  const texts = useOperationsTexts();
  return (
    <Badge variant="light" color={colors[status]}>
      {texts.status[status]}
    </Badge>
  );
}

interface OperationActorProps {
  operation: Operation;
  /** names of users by id */
  names: Record<string, string>;
  /** how the sentence names the logged-in user */
  you?: string;
}

/** Names who started an operation. */
export function OperationActor({ operation: { actor_type, actor_id }, names, you }: OperationActorProps): ReactNode {
  const texts = useOperationsTexts();
  const { user } = useMe();
  if (actor_type === 'key') return texts.actorType.key;
  if (actor_id === user.user_id) return you ?? texts.you;
  return (
    <Anchor component={Link} to={`/users/${actor_id}`} inherit>
      {names[actor_id] ?? texts.actorType.user}
    </Anchor>
  );
}
