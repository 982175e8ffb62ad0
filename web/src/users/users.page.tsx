import { Button, Group, NativeSelect, Paper, SegmentedControl, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconEdit, IconUserPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { QueryOf } from '../api/client';
import { FilterBuilder } from '../components/filter/filter-builder';
import { DataTable } from '../components/lists/data-table';
import { SearchInput } from '../components/lists/search-input';
import { type ListParams, useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { useMe } from '../session/use-me';
import { TransferMenu } from '../transfer/transfer-menu';
import { CarrierFilter } from './carrier-filter';
import { CreateUserDialog } from './actions/create-user-dialog';
import { type User, usersQuery } from './data';
import { userFilters, useUserFilterNames } from './use-user-filter';
import { useUsersTexts } from './use-users-texts';
import { useUserColumns } from './user-columns';
import { UserMenu } from './actions/user-menu';

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
  const texts = useUsersTexts();
  const { can } = useMe();
  const params = useListParams<Query>(userFilters, { extras });
  const [isFiltering, setIsFiltering] = useState(false);
  const filterNames = useUserFilterNames(isFiltering);
  const columns = useUserColumns();
  const [selected, setSelected] = useState<User[]>([]);
  const [isCreating, creation] = useDisclosure();
  const list = useQuery(usersQuery(params.query));
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
        <CarrierFilter params={params} />
        <FilterBuilder
          fields={userFilters}
          names={filterNames}
          params={params}
          shownElsewhere={shownElsewhere}
          onOpen={() => setIsFiltering(true)}
        />
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

/** Switches between all, active, invited, disabled and deleted users. */
function UsersViewSwitch({ params }: { params: ListParams<object> }): ReactNode {
  const texts = useUsersTexts();
  const { can } = useMe();
  const { deleted, status = 'all' } = params.values;
  const data = [
    { value: 'all', label: texts.views.all },
    { value: 'active', label: texts.status.active },
    { value: 'invited', label: texts.status.invited },
    { value: 'disabled', label: texts.status.disabled },
    ...(can('user:read_deleted') ? [{ value: 'deleted', label: texts.deleted }] : []),
  ];
  const wanted = deleted === 'true' ? 'deleted' : status;
  // A URL may contain any status. Without a selection, the list shows the problem.
  const view = data.some(({ value }) => value === wanted) ? wanted : '';
  const show = (next: string) =>
    params.set({
      status: next === 'all' || next === 'deleted' ? null : next,
      deleted: next === 'deleted' ? 'true' : null,
    });
  return (
    <>
      <SegmentedControl
        size="xs"
        visibleFrom="md"
        aria-label={texts.views.label}
        data={data}
        value={view}
        onChange={show}
      />
      <NativeSelect
        size="xs"
        hiddenFrom="md"
        aria-label={texts.views.label}
        data={view === '' ? [{ value: '', label: texts.views.other }, ...data] : data}
        value={view}
        onChange={(event) => show(event.currentTarget.value)}
      />
    </>
  );
}

/** Parameters of the list that are not conditions. */
const noConditions = ['order_by', 'order_dir', 'deleted'];

/** Maximum number of values of a condition, and so of ids in a bulk change. */
const selectedMax = 500;

/** Returns the path of a bulk change of the users that match the filter of a list. */
function bulkPathOf(values: Record<string, string>): string {
  const conditions = Object.entries(values).filter(([name]) => !noConditions.includes(name));
  return `/users/bulk?${new URLSearchParams(conditions).toString()}`;
}

interface SelectionBarProps {
  selected: User[];
  onClear: () => void;
}

/** Shows how many users are selected, and links to their bulk change. */
function SelectionBar({ selected, onClear }: SelectionBarProps): ReactNode {
  const texts = useUsersTexts().selection;
  const ids = selected.map(({ user_id }) => user_id).join(',');
  return (
    <Paper withBorder px="sm" py={6} mb="sm" radius="md" role="region" aria-label={texts.label}>
      <Group gap="sm">
        <Text size="sm" fw={500} role="status">
          {texts.count(selected.length)}
        </Text>
        {selected.length > selectedMax ? (
          <Text size="sm">{texts.tooMany(selectedMax)}</Text>
        ) : (
          <Button
            component={Link}
            to={bulkPathOf({ user_id_in: ids })}
            size="xs"
            leftSection={<IconEdit size={14} aria-hidden />}
          >
            {texts.change}
          </Button>
        )}
        <Button variant="subtle" color="gray" size="xs" onClick={onClear}>
          {texts.clear}
        </Button>
      </Group>
    </Paper>
  );
}
