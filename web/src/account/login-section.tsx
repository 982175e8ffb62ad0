import { Alert, Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDevices, IconLock, IconMail } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { api } from '../api/client';
import { changed } from '../api/stale';
import { Dialog } from '../components/dialogs/dialog';
import { Section } from '../components/page';
import { TimeText } from '../components/time-text';
import { useMe } from '../session/use-me';
import { useErrorTexts } from '../texts/use-error-texts';
import { EmailForm } from './email-form';
import { PasswordForm } from './password-form';
import { SettingRow } from './setting-row';
import { useAccountTexts } from './use-account-texts';

const iconSize = 20;

/** Shows e-mail address, password and sessions, with a way to change each. */
export function LoginSection(): ReactNode {
  const all = useAccountTexts();
  const texts = all.login;
  const { textOf } = useErrorTexts();
  const { user } = useMe();
  const [dialog, setDialog] = useState<'email' | 'password' | null>(null);
  const close = () => setDialog(null);
  const finishPassword = async () => {
    close();
    notifications.show({ message: all.password.changed });
    await changed('me');
  };
  const keepEmail = async () => {
    try {
      await api.DELETE('/auth/email');
      notifications.show({ message: texts.emailKept });
      await changed('me');
    } catch (error) {
      notifications.show({ color: 'red', message: textOf(error) });
    }
  };
  return (
    <Section title={texts.title}>
      <SettingRow
        icon={<IconMail size={iconSize} aria-hidden />}
        title={texts.email}
        action={
          <Button variant="default" size="xs" aria-label={texts.changeEmail} onClick={() => setDialog('email')}>
            {texts.change}
          </Button>
        }
      >
        {user.email}
      </SettingRow>
      {user.email_pending !== null && (
        <Alert color="blue" mb="sm" role="status">
          {texts.pending(user.email_pending)}
          <div>
            <Button variant="default" size="xs" mt="xs" onClick={() => void keepEmail()}>
              {texts.keepEmail}
            </Button>
          </div>
        </Alert>
      )}
      <SettingRow
        icon={<IconLock size={iconSize} aria-hidden />}
        title={texts.password}
        action={
          <Button variant="default" size="xs" aria-label={texts.changePassword} onClick={() => setDialog('password')}>
            {texts.change}
          </Button>
        }
      >
        {texts.passwordChanged} <TimeText value={user.password_changed_at} />
      </SettingRow>
      <SettingRow
        icon={<IconDevices size={iconSize} aria-hidden />}
        title={texts.sessions}
        action={
          <Button variant="default" size="xs" component={Link} to="/sessions">
            {texts.showSessions}
          </Button>
        }
      >
        {texts.sessionsText}
      </SettingRow>
      <Dialog
        opened={dialog !== null}
        onClose={close}
        title={dialog === 'email' ? texts.changeEmail : texts.changePassword}
      >
        {dialog === 'email' && <EmailForm onSent={close} />}
        {dialog === 'password' && <PasswordForm onChanged={finishPassword} />}
      </Dialog>
    </Section>
  );
}
