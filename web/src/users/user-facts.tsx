import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyIcon } from '../components/copy-button';
import { Facts } from '../components/facts';
import { Section } from '../components/section';
import { TimeText } from '../components/time-text';
import { useTexts } from '../texts/language';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';
import type { User } from './user';
import classes from './users.module.css';

/** Shows the read-only fields of a user, such as the last login. */
export function UserFacts({ user }: { user: User }): ReactNode {
  const texts = useTexts({ en, de });
  const { fields } = texts;
  const { user_id, user_type, carrier_id, last_login_at, last_login_ip, locked_until, deleted_at } = user;
  return (
    <Section title={texts.facts}>
      <Facts
        facts={[
          [fields.user_type, texts.userType[user_type]],
          [fields.carrier_id, carrier_id],
          [fields.created_at, <TimeText key="time" value={user.created_at} />],
          [fields.updated_at, <TimeText key="time" value={user.updated_at} />],
          [fields.password_changed_at, <TimeText key="time" value={user.password_changed_at} />],
          [fields.last_login_at, <TimeText key="time" value={last_login_at} />],
          [fields.last_login_ip, last_login_ip],
          [fields.last_seen_at, <TimeText key="time" value={user.last_seen_at} />],
          [fields.locked_until, locked_until !== null && <TimeText key="time" value={locked_until} />],
          [fields.deleted_at, deleted_at !== null && <TimeText key="time" value={deleted_at} />],
          [
            fields.user_id,
            <Group key="id" gap={4} wrap="nowrap">
              <Text span size="xs" ff="monospace" className={classes.breakable}>
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
