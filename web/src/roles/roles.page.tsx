import { Anchor, Badge, Button, Group, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { CutText } from '../components/lists/cut-text';
import { DataTable } from '../components/lists/data-table';
import { SearchInput } from '../components/lists/search-input';
import type { Column } from '../components/lists/stacked-rows';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { own } from '../own';
import { PermissionSummary } from '../permissions/permission-list';
import type { Role } from './data';
import { rolePath } from './role-links';
import { SecondFactorText } from './second-factor-text';
import { useRoleRights, useRoles } from './use-roles';
import { useRolesTexts } from './use-roles-texts';

const noFilters = {};
const extras = ['q'];

/** Lists roles. */
export function RolesPage(): ReactNode {
  const texts = useRolesTexts();
  const { mayManage } = useRoleRights();
  const params = useListParams(noFilters, { extras });
  const { data, ...list } = useRoles();
  const q = (params.values['q'] ?? '').toLowerCase();
  const found = data?.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(q));
  const columns: Column<Role>[] = [
    { key: 'name', title: texts.columns.name, render: (role) => <RoleName role={role} /> },
    {
      key: 'user_types',
      title: texts.columns.user_types,
      render: ({ user_types }) => user_types.map((type) => texts.userTypes[type]).join(', '),
    },
    {
      key: 'permissions',
      title: texts.columns.permissions,
      render: ({ permissions }) => <PermissionSummary permissions={permissions} />,
    },
    {
      key: 'second_factor_required_from',
      title: texts.columns.second_factor,
      render: (role) => <SecondFactorText role={role} />,
    },
  ];
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={
          mayManage && (
            <Button component={Link} to="/roles/create" leftSection={<IconPlus size={16} aria-hidden />}>
              {texts.create}
            </Button>
          )
        }
      />
      <Group mb="sm">
        <SearchInput label={texts.search} params={params} />
      </Group>
      <DataTable
        label={texts.title}
        columns={columns}
        idOf={({ name }) => name}
        list={{ ...list, ...(found === undefined ? {} : { data: { items: found, next_cursor: null, total: null } }) }}
        params={params}
        empty={{ title: texts.empty }}
      />
    </>
  );
}

function RoleName({ role: { name, description, built_in } }: { role: Role }): ReactNode {
  const texts = useRolesTexts();
  const purpose = (built_in ? own(texts.builtInPurposes, name) : undefined) ?? description;
  return (
    <>
      <Group gap="xs">
        <Anchor component={Link} to={rolePath(name)} fw={600} size="sm">
          <CutText>{name}</CutText>
        </Anchor>
        {built_in && (
          <Badge variant="light" color="gray" size="sm">
            {texts.builtIn}
          </Badge>
        )}
      </Group>
      {purpose !== '' && (
        <Text size="xs" c="dimmed" fw={400} lineClamp={2}>
          {purpose}
        </Text>
      )}
    </>
  );
}
