import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, dataOf, type QueryOf } from '../api/client';
import { ConfirmDialog } from '../components/confirm-dialog';
import { DataTable } from '../components/lists/data-table';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { useMe } from '../session/use-me';
import { useLanguage, useTexts } from '../texts/language';
import { useEndSession } from './end-session-button';
import { PartSwitch } from './part-switch';
import { useSessionColumns } from './session-columns';
import { sessionsTexts as de } from './texts.de';
import { sessionsTexts as en } from './texts.en';

type Query = QueryOf<'listSessions'>;

const noFilters = {};

/** Lists the live sessions of the user. Ends one of them, or all except the current session. */
export function OwnSessionsPage(): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const { user, can } = useMe();
  const queryClient = useQueryClient();
  const [isOpen, dialog] = useDisclosure();
  const endSession = useEndSession();
  const params = useListParams<Query>(noFilters);
  const query: Query = { ...params.query, user_id: user.user_id, active: true };
  const list = useQuery({
    queryKey: ['sessions', 'list', query],
    queryFn: ({ signal }) => dataOf(api.GET('/auth/session/list', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
  const { device, ip, login, seen } = useSessionColumns(false);
  const endOthers = async () => {
    const { ended } = await dataOf(api.DELETE('/auth/session/all'));
    notifications.show({ message: texts.endedMany(ended.toLocaleString(language), ended === 1) });
    await queryClient.invalidateQueries({ queryKey: ['sessions'] });
  };
  const hasOthers = list.data?.items.some(({ current }) => !current) ?? false;
  return (
    <>
      <PageHeader
        title={texts.ownTitle}
        description={texts.ownDescription}
        actions={
          <>
            {can('session:read') && <PartSwitch part="own" />}
            <Button variant="default" onClick={dialog.open} disabled={!hasOthers}>
              {texts.endOthers}
            </Button>
          </>
        }
      />
      <DataTable
        label={texts.ownTitle}
        columns={[device, ip, login, seen]}
        idOf={({ session_id }) => session_id}
        list={list}
        params={params}
        defaultSort={{ order_by: 'created_at', order_dir: 'desc' }}
        actions={endSession.button}
      />
      {endSession.dialog}
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title={texts.endOthersTitle}
        confirmLabel={texts.endOthers}
        isDestructive
        onConfirm={endOthers}
      >
        {texts.endOthersText}
      </ConfirmDialog>
    </>
  );
}
