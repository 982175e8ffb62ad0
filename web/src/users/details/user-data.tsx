import { Box } from '@mantine/core';
import type { ReactNode } from 'react';
import { DraftForm } from '../../components/drafts/draft-form';
import type { User } from '../data';
import { useUsersTexts } from '../use-users-texts';
import { useValueText } from '../use-value-text';
import { useUserDraft } from './use-user-draft';
import { UserFormFields } from './user-form-fields';

/** Changes the fields of a user. */
export function UserData({ user }: { user: User }): ReactNode {
  const { fields } = useUsersTexts();
  const draft = useUserDraft(user);
  return (
    <Box maw={800}>
      <DraftForm draft={draft} names={fields} textOf={useValueText()}>
        <UserFormFields draft={draft} user={user} />
      </DraftForm>
    </Box>
  );
}
