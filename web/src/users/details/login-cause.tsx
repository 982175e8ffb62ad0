import { Anchor, Text } from '@mantine/core';
import { Fragment, type ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schema } from '../../api/client';
import { TimeText } from '../../components/time-text';
import { operationPermissions } from '../../operations/permissions';
import { own } from '../../own';
import { useMe } from '../../session/use-me';
import { useUsersTexts } from '../use-users-texts';
import type { Cause } from './data';

/** Returns the title and the text of a cause. A later version of the service may add causes. */
export function useCauseTexts(): (cause: Cause) => { title: string; text: string } {
  const { causes, despite } = useUsersTexts().check;
  return ({ code, blocks, evidence = {} }) => {
    const texts = own(causes, code);
    const text = texts?.text(evidence) ?? '';
    const isIgnored = !blocks && texts?.isPasskeyEnough === true;
    return { title: texts?.title ?? code, text: isIgnored ? `${text} ${despite}` : text };
  };
}

/** Shows since when and until when a cause holds, and who caused it. */
export function CauseFacts({ cause: { code, since, until, by, evidence } }: { cause: Cause }): ReactNode {
  const { since: beginnings, until: ends, bulk } = useUsersTexts().check;
  const { canAny } = useMe();
  const operation_id = evidence?.operation_id;
  const facts = [
    since !== undefined && (
      <>
        {own(beginnings, code) ?? beginnings.other} <TimeText value={since} />
      </>
    ),
    by !== undefined && <Actor actor={by} />,
    operation_id !== undefined && canAny(operationPermissions) && (
      <Anchor component={Link} to={`/operations/${operation_id}`} inherit underline="always">
        {bulk}
      </Anchor>
    ),
    until !== undefined && (
      <>
        {ends} <TimeText value={until} />
      </>
    ),
  ].filter((fact) => fact !== false);
  if (facts.length === 0) return null;
  return (
    <Text size="sm" c="dimmed" component="div">
      {facts.map((fact, index) => (
        <Fragment key={index}>
          {index > 0 && ' · '}
          {fact}
        </Fragment>
      ))}
    </Text>
  );
}

function Actor({ actor: { actor_type, actor_id, name } }: { actor: Schema<'CauseActorResponse'> }): ReactNode {
  const texts = useUsersTexts();
  const { can } = useMe();
  if (actor_type === 'system') return texts.history.bySystem;
  const by = actor_type === 'key' ? texts.history.byKey : texts.history.by;
  // Users and keys outside the scope have no page.
  if (name === null) return actor_type === 'key' ? by : `${by} ${texts.check.hiddenActor}`;
  const path = actor_type === 'key' ? `/api-keys/${actor_id}` : `/users/${actor_id}`;
  if (!can(actor_type === 'key' ? 'key:manage' : 'user:read')) return `${by} ${name}`;
  return (
    <>
      {by}{' '}
      <Anchor component={Link} to={path} inherit underline="always">
        {name}
      </Anchor>
    </>
  );
}
