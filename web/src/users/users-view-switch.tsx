import { NativeSelect, SegmentedControl } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ListParams } from '../components/use-list-params';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';

/** Switches between all, active, invited, disabled and deleted users. */
export function UsersViewSwitch({ params }: { params: ListParams<object> }): ReactNode {
  const texts = useTexts({ en, de });
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
