import type { ReactNode } from 'react';
import { changed } from '../../api/stale';
import { PasswordForm } from '../password-form';
import { useAccountTexts } from '../use-account-texts';
import { DutyFrame } from './duty-frame';

/** Asks for a new password. Then the console appears. */
export function PasswordDutyPage(): ReactNode {
  const texts = useAccountTexts().duties;
  return (
    <DutyFrame title={texts.passwordTitle} text={texts.passwordText}>
      <PasswordForm onChanged={() => changed('me')} />
    </DutyFrame>
  );
}
