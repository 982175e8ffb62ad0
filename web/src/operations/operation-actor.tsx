import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';
import type { Operation } from './use-operation';

interface OperationActorProps {
  operation: Operation;
  /** names of users by id */
  names: Record<string, string>;
  /** how the sentence names the logged-in user */
  you?: string;
}

/** Names who started an operation. */
export function OperationActor({ operation: { actor_type, actor_id }, names, you }: OperationActorProps): ReactNode {
  const texts = useTexts({ en, de });
  const { user } = useMe();
  if (actor_type === 'key') return texts.actorType.key;
  if (actor_id === user.user_id) return you ?? texts.you;
  return (
    <Anchor component={Link} to={`/users/${actor_id}`} inherit>
      {names[actor_id] ?? texts.actorType.user}
    </Anchor>
  );
}
