import { Anchor, Badge, Box, Button, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconTrash } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link, useParams } from 'react-router';
import { BackLink, NotFoundPage, PageHeader, PageSkeleton, Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useMe } from '../session/use-me';
import type { Role } from './data';
import { DeleteRoleDialog } from './delete-role-dialog';
import { RoleFacts } from './role-facts';
import { RoleForm } from './role-form';
import { holdersPath } from './role-links';
import { RoleMembers } from './role-members';
import { SecondFactorText } from './second-factor-text';
import { useHolderCount, useRoleRights, useRoles } from './use-roles';
import { useRolesTexts } from './use-roles-texts';

/** Shows a role, and lets the user change or delete it. */
export function RolePage(): ReactNode {
  const { name } = useParams();
  const { data: roles, error, refetch } = useRoles();
  const role = roles?.find((other) => other.name === name);
  if (roles === undefined)
    return error === null ? <PageSkeleton /> : <ProblemAlert error={error} onRetry={() => void refetch()} />;
  if (role === undefined) return <NotFoundPage />;
  return <RoleDetails key={role.name} role={role} roles={roles} />;
}

function RoleDetails({ role, roles }: { role: Role; roles: Role[] }): ReactNode {
  const texts = useRolesTexts();
  const { can } = useMe();
  const { mayManage, mayChange, mayGrant } = useRoleRights();
  const [isDeleting, deletion] = useDisclosure();
  return (
    <Box maw={880}>
      <BackLink to="/roles">{texts.title}</BackLink>
      <PageHeader
        title={role.name}
        description={<RoleSummary role={role} />}
        actions={
          mayChange(role) &&
          !role.built_in && (
            <Button
              color="red"
              variant="light"
              leftSection={<IconTrash size={16} aria-hidden />}
              onClick={deletion.open}
            >
              {texts.delete}
            </Button>
          )
        }
      />
      {can('user:read') && (
        <Box mb="md">
          <RoleMembers role={role} mayGrant={mayGrant(role, roles)} />
        </Box>
      )}
      {mayChange(role) ? (
        <RoleForm role={role} roles={roles} />
      ) : (
        <Stack gap="md">
          {mayManage && <Text size="sm">{texts.readOnly}</Text>}
          <RoleFacts role={role} />
          <Section title={texts.sections.secondFactor}>
            <SecondFactorText role={role} />
          </Section>
        </Stack>
      )}
      <DeleteRoleDialog role={role} roles={roles} opened={isDeleting} onClose={deletion.close} />
    </Box>
  );
}

function RoleSummary({ role: { name, built_in } }: { role: Role }): ReactNode {
  const texts = useRolesTexts();
  const holders = useHolderCount(name);
  return (
    <Group component="span" gap="xs">
      {built_in && (
        <Badge component="span" variant="light" color="gray">
          {texts.builtIn}
        </Badge>
      )}
      {holders !== undefined &&
        (holders === 0 ? (
          texts.noHolders
        ) : (
          <Anchor component={Link} to={holdersPath(name)} size="sm">
            {texts.holders(holders)}
          </Anchor>
        ))}
    </Group>
  );
}
