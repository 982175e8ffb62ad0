import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconEdit, IconUserPlus } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { QueryOf } from '../api/client';
import { listUsers } from '../api/list-users';
import { DataTable } from '../components/data-table';
import { FilterBuilder } from '../components/filter/filter-builder';
import { PageHeader } from '../components/page-header';
import { SearchInput } from '../components/search-input';
import { useListParams } from '../components/use-list-params';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import { TransferMenu } from '../transfer/transfer-menu';
import { CreateUserDialog } from './create-user-dialog';
import { bulkPathOf, SelectionBar } from './selection-bar';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';
import type { User } from './user';
import { useUserColumns } from './user-columns';
import { UserMenu } from './user-menu';
import { userFilters, useUserFilterNames } from './use-user-filter';
import { UsersViewSwitch } from './users-view-switch';

type Query = QueryOf<'listUsers'>;

const extras = ['deleted'];
/** The search and the switch above the table show these. */
const shownElsewhere = ['q', 'status'];
const newestFirst = { order_by: 'created_at', order_dir: 'desc' } as const;
const idOf = ({ user_id }: User) => user_id;
const nameOf = ({ name }: User) => name;
const menuOf = (user: User) => <UserMenu user={user} />;

/** Lists users with search and filters, and creates, changes, imports and exports users. */
export function UsersPage(): ReactNode {
  const texts = useTexts({ en, de });
  const { can } = useMe();
  const params = useListParams<Query>(userFilters, { extras });
  const filterNames = useUserFilterNames();
  const columns = useUserColumns();
  const [selected, setSelected] = useState<User[]>([]);
  const [isCreating, creation] = useDisclosure();
  const list = useQuery({
    queryKey: ['users', 'list', params.query],
    queryFn: ({ signal }) => listUsers(params.query, signal),
    placeholderData: keepPreviousData,
  });
  const isDeleted = params.values['deleted'] === 'true';
  const mayChange = (can('user:update') || can('user:delete')) && !isDeleted;
  const createButton = can('user:create') && (
    <Button leftSection={<IconUserPlus size={16} aria-hidden />} onClick={creation.open}>
      {texts.create.open}
    </Button>
  );
  return (
    <>
      <PageHeader
        title={texts.title}
        actions={
          <>
            <TransferMenu values={params.values} />
            {createButton}
          </>
        }
      />
      <Group gap="xs" mb="sm">
        <SearchInput label={texts.search} params={params} />
        <UsersViewSwitch params={params} />
        <FilterBuilder fields={userFilters} names={filterNames} params={params} shownElsewhere={shownElsewhere} />
        {mayChange && (
          <Button
            component={Link}
            to={bulkPathOf(params.values)}
            variant="subtle"
            size="xs"
            ml={{ base: 0, sm: 'auto' }}
            leftSection={<IconEdit size={16} aria-hidden />}
          >
            {params.isFiltered ? texts.selection.changeMatching : texts.selection.changeAll}
          </Button>
        )}
      </Group>
      {mayChange && selected.length > 0 && <SelectionBar selected={selected} onClear={() => setSelected([])} />}
      <DataTable
        label={texts.title}
        columns={columns}
        idOf={idOf}
        nameOf={nameOf}
        list={list}
        params={params}
        defaultSort={newestFirst}
        actions={menuOf}
        empty={{ title: texts.empty.title, hint: texts.empty.hint, action: createButton }}
        {...(mayChange ? { selected, onSelect: setSelected } : {})}
      />
      <CreateUserDialog opened={isCreating} onClose={creation.close} />
    </>
  );
}
