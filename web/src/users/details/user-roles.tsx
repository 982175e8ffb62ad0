import { Box, Checkbox, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { DraftForm } from '../../components/drafts/draft-form';
import { EmptyState, PageSkeleton } from '../../components/page';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { useRoles } from '../../roles/use-roles';
import { useMe } from '../../session/use-me';
import type { User } from '../data';
import { useUsersTexts } from '../use-users-texts';
import { useValueText } from '../use-value-text';
import { useUserDraft } from './use-user-draft';

/** Shows the roles of a user. With `user:update`, the caller can change them. */
export function UserRoles({ user }: { user: User }): ReactNode {
  const texts = useUsersTexts();
  const { can } = useMe();
  const roles = useRoles();
  const draft = useUserDraft(user);
  const textOf = useValueText();
  const mayChange = can('user:update') && user.deleted_at === null;
  if (!can('role:read')) {
    if (user.roles.length === 0) return <EmptyState title={texts.noRoles} />;
    return <Text>{user.roles.join(', ')}</Text>;
  }
  if (roles.isPending) return <PageSkeleton />;
  const assignable = (roles.data ?? []).filter(({ user_types }) => user_types.includes(user.user_type));
  return (
    <Box maw={800}>
      <DraftForm draft={draft} names={texts.fields} textOf={textOf}>
        <ProblemAlert error={roles.error} onRetry={() => void roles.refetch()} />
        <Checkbox.Group
          label={texts.roles.label}
          description={texts.roles.hint}
          value={draft.values.roles}
          onChange={(next) => draft.set({ roles: next })}
          error={draft.form.errorOf('roles')}
        >
          <Stack gap="sm" mt="sm">
            {assignable.map(({ name, description }) => (
              <Checkbox
                key={name}
                value={name}
                label={name}
                description={description}
                disabled={!mayChange}
                // Otherwise a label without a description is centered vertically.
                styles={{ body: { alignItems: 'flex-start' } }}
              />
            ))}
          </Stack>
        </Checkbox.Group>
      </DraftForm>
    </Box>
  );
}
