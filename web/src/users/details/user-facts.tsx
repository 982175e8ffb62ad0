import { Anchor, Code, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useNames } from '../../audit/data';
import { CopyIcon } from '../../components/copy-button';
import { Facts } from '../../components/facts';
import { Section } from '../../components/page';
import { TimeText } from '../../components/time-text';
import { useMe } from '../../session/use-me';
import { useTexts } from '../../texts/language';
import { personFields } from '../fields';
import { usersTexts as de } from '../texts.de';
import { usersTexts as en } from '../texts.en';
import { useUserNames } from '../use-user-names';
import { useValueText } from '../use-value-text';
import { isLocked, type User } from '../user';
import classes from './user-overview.module.css';

/** Shows the fields about the person. */
export function PersonFacts({ user }: { user: User }): ReactNode {
  const { edit: texts, fields, overview } = useTexts({ en, de });
  const { email, email_pending, attributes } = user;
  return (
    <Section title={texts.person}>
      <Facts
        facts={[
          [
            fields.email,
            <div key="email">
              {email}
              {email_pending !== null && (
                <Text size="sm" c="dimmed">
                  {overview.unconfirmed(email_pending)}
                </Text>
              )}
            </div>,
          ],
          ...personFields.map((field): [string, ReactNode] => [fields[field], user[field]]),
          [
            fields.attributes,
            Object.keys(attributes).length > 0 && (
              <Code key="json" block className={classes.attributes}>
                {JSON.stringify(attributes, null, 2)}
              </Code>
            ),
          ],
        ]}
      />
    </Section>
  );
}

/** Shows the other fields of a user. */
export function AccountFacts({ user }: { user: User }): ReactNode {
  const texts = useTexts({ en, de });
  const { fields, overview } = texts;
  const { can } = useMe();
  const textOf = useValueText();
  const { user_id, user_type, carrier_id, locked_until, deleted_at, created_by } = user;
  return (
    <Section
      title={overview.account}
      actions={
        can('audit:read') && (
          <Anchor component={Link} to={`/audit?actor_id=${user_id}`} size="sm">
            {overview.actions}
          </Anchor>
        )
      }
    >
      <Facts
        facts={[
          [fields.user_type, texts.userType[user_type]],
          [
            fields.carrier_id,
            carrier_id !== null && (
              <Anchor key="carrier" component={Link} to={`/users?${new URLSearchParams({ carrier_id })}`} inherit>
                {carrier_id}
              </Anchor>
            ),
          ],
          [fields.carrier_scope, user_type === 'system' && textOf('carrier_scope', user.carrier_scope)],
          [fields.allowed_ips, user.allowed_ips.join(', ')],
          [fields.must_change_password, user.must_change_password && textOf('', true)],
          [fields.password_changed_at, <TimeText key="time" value={user.password_changed_at} />],
          [fields.last_seen_at, <TimeText key="time" value={user.last_seen_at} />],
          [fields.locked_until, isLocked(user) && <TimeText key="time" value={locked_until} />],
          [
            fields.created_at,
            <span key="created">
              <TimeText value={user.created_at} />
              {created_by !== null && (
                <>
                  {' '}
                  {texts.history.by} <CreatorLink id={created_by} />
                </>
              )}
            </span>,
          ],
          [fields.updated_at, <TimeText key="time" value={user.updated_at} />],
          [fields.deleted_at, deleted_at !== null && <TimeText key="time" value={deleted_at} />],
          [
            fields.user_id,
            <Group key="id" gap={4} wrap="nowrap">
              <Text span size="xs" ff="monospace" className={classes.id}>
                {user_id}
              </Text>
              <CopyIcon value={user_id} label={texts.copyId} />
            </Group>,
          ],
        ]}
      />
    </Section>
  );
}

/** Links the user or API key that created a user, or its events if it is outside the scope. */
function CreatorLink({ id }: { id: string }): ReactNode {
  const isUser = useUserNames([id])[id] !== undefined;
  const name = useNames([], [id])[id];
  const path = name === undefined ? `/audit?actor_id=${id}` : `/${isUser ? 'users' : 'api-keys'}/${id}`;
  const { can } = useMe();
  if (name === undefined && !can('audit:read')) return id;
  return (
    <Anchor component={Link} to={path} inherit underline="always">
      {name ?? `…${id.slice(-8)}`}
    </Anchor>
  );
}
