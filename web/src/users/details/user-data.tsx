import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyIcon } from '../../components/copy-button';
import { DraftForm } from '../../components/drafts/draft-form';
import { Facts } from '../../components/facts';
import { Section } from '../../components/page';
import { TimeText } from '../../components/time-text';
import { useMe } from '../../session/use-me';
import { useTexts } from '../../texts/language';
import { usersTexts as de } from '../texts.de';
import { usersTexts as en } from '../texts.en';
import { useValueText } from '../use-value-text';
import classes from '../users.module.css';
import type { User } from '../user';
import { useUserDraft } from './use-user-draft';
import { UserFormFields } from './user-form-fields';

/** Shows the fields of a user. With `user:update`, the caller can change them. */
export function UserData({ user }: { user: User }): ReactNode {
  const { can } = useMe();
  const draft = useUserDraft(user);
  const textOf = useValueText();
  const { fields } = useTexts({ en, de });
  const readOnly = !can('user:update') || user.deleted_at !== null;
  return (
    <div className={classes.page}>
      <DraftForm draft={draft} names={fields} textOf={textOf}>
        <UserFormFields draft={draft} user={user} readOnly={readOnly} />
      </DraftForm>
      <UserFacts user={user} />
    </div>
  );
}

/** Shows the read-only fields of a user, such as the last login. */
function UserFacts({ user }: { user: User }): ReactNode {
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
