import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client';
import { ConfirmDialog } from '../components/confirm-dialog';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import { type Session, useDeviceName } from './session-columns';
import { sessionsTexts as de } from './texts.de';
import { sessionsTexts as en } from './texts.en';

/**
 * Returns a button for each row of a list, and the dialog behind the buttons. The dialog belongs to
 * the page: a row disappears when the table turns into cards, as on a phone that is turned.
 */
export function useEndSession(): { button: (session: Session) => ReactNode; dialog: ReactNode } {
  const [session, setSession] = useState<Session | null>(null);
  return {
    button: (one) => <EndSessionButton session={one} onClick={() => setSession(one)} />,
    dialog: session !== null && <EndSessionDialog session={session} onClose={() => setSession(null)} />,
  };
}

/**
 * Asks whether to end a session. Absent for the current session, for ended ones, and for those of
 * other users without `session:revoke`.
 */
function EndSessionButton({ session, onClick }: { session: Session; onClick: () => void }): ReactNode {
  const texts = useTexts({ en, de });
  const { user, can } = useMe();
  const device = useDeviceName()(session);
  const { user_id, name, active, current } = session;
  if (!active || current || !(user_id === user.user_id || can('session:revoke'))) return null;
  return (
    <Button variant="default" size="compact-sm" onClick={onClick} aria-label={texts.endOf(name, device)}>
      {texts.end}
    </Button>
  );
}

function EndSessionDialog({ session, onClose }: { session: Session; onClose: () => void }): ReactNode {
  const texts = useTexts({ en, de });
  const { user } = useMe();
  const device = useDeviceName()(session);
  const queryClient = useQueryClient();
  const { session_id, user_id, name } = session;
  const end = async () => {
    await api.DELETE('/auth/session/{session_id}', { params: { path: { session_id } } });
    notifications.show({ message: texts.endedOne });
    await queryClient.invalidateQueries({ queryKey: ['sessions'] });
  };
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={texts.endTitle}
      confirmLabel={texts.endConfirm}
      isDestructive
      onConfirm={end}
    >
      {user_id === user.user_id ? texts.endOwnText(device) : texts.endText(name, device)}
    </ConfirmDialog>
  );
}
