import { Button, Group, SegmentedControl } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { listSessionsFilters } from '../api/filters';
import { conditionsOf, type FilterFields } from '../components/filter/conditions';
import { FilterBuilder } from '../components/filter/filter-builder';
import { useConditionText } from '../components/filter/use-condition-text';
import { DataTable } from '../components/lists/data-table';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { useMe } from '../session/use-me';
import { useUserNames } from '../users/use-user-names';
import { UserPicker } from '../users/user-picker';
import { type SessionFilter, sessionsQuery } from './data';
import { EndMatchingDialog } from './end-matching-dialog';
import { useEndSession } from './end-session-button';
import { PartSwitch } from './part-switch';
import { useSessionColumns } from './session-columns';
import { useSessionsTexts } from './use-sessions-texts';

// The switch above the list chooses between live and ended sessions.
const fields: FilterFields = Object.fromEntries(
  Object.entries(listSessionsFilters).filter(([name]) => name !== 'active'),
);
/** Parameters of the list that are not conditions. */
const listKeys = new Set(['order_by', 'order_dir', 'per_page', 'cursor']);
const extras = ['state'] as const;
const states = ['live', 'ended', 'all'] as const;

/** Lists the sessions of all users: who is logged in, from where, on which device. */
export function SessionsPage(): ReactNode {
  const texts = useSessionsTexts();
  const { can } = useMe();
  const [isOpen, dialog] = useDisclosure();
  const endSession = useEndSession();
  const params = useListParams<SessionFilter & { state?: string }>(fields, { extras });
  const { state: wanted, ...rest } = params.query;
  const state = states.find((one) => one === wanted) ?? 'live';
  const query: SessionFilter = state === 'all' ? rest : { ...rest, active: state === 'live' };
  const filter = Object.fromEntries(Object.entries(rest).filter(([name]) => !listKeys.has(name)));
  const list = useQuery(sessionsQuery(query));
  const names = useUserNames(
    (params.values['user_id'] ?? params.values['user_id_in'] ?? '').split(',').filter(Boolean),
  );
  const filterNames = {
    fields: texts.fields,
    choices: { user_type: texts.userType, ended_reason: texts.reason, user_id: names },
  };
  const describe = useConditionText(fields, filterNames);
  const columns = useSessionColumns(true);
  const shown = [columns.user, columns.device, columns.ip, columns.login, columns.seen];
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} actions={<PartSwitch part="all" />} />
      <Group gap="xs" mb="sm">
        <SegmentedControl
          size="xs"
          aria-label={texts.stateLabel}
          value={state}
          onChange={(next) => params.set({ state: next === 'live' ? null : next })}
          data={states.map((one) => ({ value: one, label: texts.state[one] }))}
        />
        {can('user:read') && (
          <UserPicker label={texts.findUser} onPick={(user_id) => params.set({ user_id, user_id_in: null })} />
        )}
        <FilterBuilder fields={fields} names={filterNames} params={params} />
        {can('session:revoke') && state !== 'ended' && (
          <Button color="red" variant="light" size="xs" ml={{ sm: 'auto' }} onClick={dialog.open}>
            {texts.endMatching}
          </Button>
        )}
      </Group>
      <DataTable
        label={texts.title}
        columns={state === 'live' ? shown : [...shown, columns.state]}
        idOf={({ session_id }) => session_id}
        list={list}
        params={params}
        defaultSort={{ order_by: 'created_at', order_dir: 'desc' }}
        actions={endSession.button}
        empty={{ title: texts.empty, hint: texts.emptyHint }}
      />
      {endSession.dialog}
      <EndMatchingDialog
        opened={isOpen}
        onClose={dialog.close}
        filter={filter}
        conditions={conditionsOf(params.values, fields).map(describe)}
      />
    </>
  );
}
