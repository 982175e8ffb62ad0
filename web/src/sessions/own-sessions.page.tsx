import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ConfirmDialog } from '../components/dialogs/confirm-dialog';
import { DataTable } from '../components/lists/data-table';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { useMe } from '../session/use-me';
import { endSessions, type SessionFilter, sessionsQuery } from './data';
import { useEndSession } from './end-session-button';
import { PartSwitch } from './part-switch';
import { useSessionColumns } from './session-columns';
import { useSessionsTexts } from './use-sessions-texts';

const noFilters = {};

/** Lists the live sessions of the user. Ends one of them, or all except the current session. */
export function OwnSessionsPage(): ReactNode {
  const texts = useSessionsTexts();
  const { user, can } = useMe();
  const [isOpen, dialog] = useDisclosure();
  const endSession = useEndSession();
  const params = useListParams<SessionFilter>(noFilters);
  const list = useQuery(sessionsQuery({ ...params.query, user_id: user.user_id, active: true }));
  const { device, ip, login, seen } = useSessionColumns(false);
  const endOthers = async () => {
    notifications.show({ message: texts.endedMany(await endSessions()) });
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
            <Button color="red" variant="light" onClick={dialog.open} disabled={!hasOthers}>
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
