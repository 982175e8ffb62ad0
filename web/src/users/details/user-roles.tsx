import { Checkbox, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { EmptyState, PageSkeleton } from '../../components/page';
import { ProblemAlert } from '../../components/problem-alert';
import { useRoles } from '../../roles/use-roles';
import { useMe } from '../../session/use-me';
import { useTexts } from '../../texts/language';
import { usersTexts as de } from '../texts.de';
import { usersTexts as en } from '../texts.en';
import type { User } from '../user';
import { SaveBar, UserVersionDialog, useUserEdit } from './user-edit';

/** Shows the roles of a user. With `user:update`, the caller can change them. */
export function UserRoles({ user }: { user: User }): ReactNode {
  const texts = useTexts({ en, de });
  const { can } = useMe();
  const roles = useRoles();
  const edit = useUserEdit(user, ['roles']);
  const mayChange = can('user:update') && user.deleted_at === null;
  if (!can('role:read')) {
    if (user.roles.length === 0) return <EmptyState title={texts.noRoles} />;
    return <Text>{user.roles.join(', ')}</Text>;
  }
  if (roles.isPending) return <PageSkeleton />;
  const assignable = (roles.data ?? []).filter(({ user_types }) => user_types.includes(user.user_type));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void edit.save();
      }}
    >
      <Stack gap="md" maw={800}>
        <ProblemAlert error={roles.error} onRetry={() => void roles.refetch()} />
        <Checkbox.Group
          label={texts.roles.label}
          description={texts.roles.hint}
          value={edit.values.roles}
          onChange={(next) => edit.set({ roles: next })}
          error={edit.form.errorOf('roles')}
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
        <SaveBar edit={edit} />
      </Stack>
      <UserVersionDialog edit={edit} />
    </form>
  );
}
