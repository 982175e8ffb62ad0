import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useState } from 'react';
import { ConfirmDialog } from '../components/dialogs/confirm-dialog';
import { useMe } from '../session/use-me';
import { endSession } from './data';
import { type Session, useDeviceName } from './session-columns';
import { useSessionsTexts } from './use-sessions-texts';

/**
 * Returns the button for a row of a list, and the dialog that the buttons open. Render the dialog
 * in the page: rotating a phone replaces the rows of the table by cards.
 */
export function useEndSession(): { button: (session: Session) => ReactNode; dialog: ReactNode } {
  const [session, setSession] = useState<Session | null>(null);
  return {
    button: (one) => <EndSessionButton session={one} onClick={() => setSession(one)} />,
    dialog: session !== null && <EndSessionDialog session={session} onClose={() => setSession(null)} />,
  };
}

/**
 * Opens the dialog that ends a session. Renders nothing for the current session, for ended
 * sessions, and, without `session:revoke`, for sessions of other users.
 */
function EndSessionButton({ session, onClick }: { session: Session; onClick: () => void }): ReactNode {
  const texts = useSessionsTexts();
  const { user, can } = useMe();
  const device = useDeviceName()(session);
  const { user_id, name, active, current } = session;
  if (!active || current || !(user_id === user.user_id || can('session:revoke'))) return null;
  return (
    <Button color="red" variant="subtle" size="compact-sm" onClick={onClick} aria-label={texts.endOf(name, device)}>
      {texts.end}
    </Button>
  );
}

function EndSessionDialog({ session, onClose }: { session: Session; onClose: () => void }): ReactNode {
  const texts = useSessionsTexts();
  const { user } = useMe();
  const device = useDeviceName()(session);
  const { session_id, user_id, name } = session;
  const end = async () => {
    await endSession(session_id);
    notifications.show({ message: texts.endedOne });
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
