import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { DataTable } from '../../components/lists/data-table';
import { useListParams } from '../../components/lists/use-list-params';
import { type SessionFilter, sessionsQuery } from '../../sessions/data';
import { useEndSession } from '../../sessions/end-session-button';
import { useSessionColumns } from '../../sessions/session-columns';
import type { User } from '../data';
import { useUserActions } from '../actions/use-user-actions';
import { useUsersTexts } from '../use-users-texts';
import classes from '../users.module.css';

const noFilters = {};

/** Lists the live sessions of a user, and ends one or all of them. */
export function UserSessions({ user }: { user: User }): ReactNode {
  const texts = useUsersTexts();
  const { mayDo, start, dialog } = useUserActions(user);
  const endSession = useEndSession();
  const params = useListParams<SessionFilter>(noFilters);
  const list = useQuery(sessionsQuery({ ...params.query, user_id: user.user_id, active: true }));
  const { device, ip, login, seen } = useSessionColumns(false);
  const hasSessions = (list.data?.items.length ?? 0) > 0;
  return (
    <>
      {hasSessions && mayDo('endSessions') && (
        <Button variant="default" size="xs" mb="sm" className={classes.atEnd} onClick={() => start('endSessions')}>
          {texts.actions.endSessions.label}
        </Button>
      )}
      <DataTable
        label={texts.tabs.sessions}
        columns={[device, ip, login, seen]}
        idOf={({ session_id }) => session_id}
        list={list}
        params={params}
        defaultSort={{ order_by: 'created_at', order_dir: 'desc' }}
        actions={endSession.button}
        empty={{ title: texts.sessions.empty, hint: texts.sessions.emptyHint }}
      />
      {endSession.dialog}
      {dialog}
    </>
  );
}
