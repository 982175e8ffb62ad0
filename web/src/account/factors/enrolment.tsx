import { notifications } from '@mantine/notifications';
import { type ReactNode, useState } from 'react';
import { changed } from '../../api/stale';
import { useAccountTexts } from '../use-account-texts';
import { AddApp } from './add-app';
import { AddPasskey } from './add-passkey';
import type { FactorKind } from './data';
import { RecoveryCodes } from './recovery-codes';

interface EnrolmentProps {
  kind: FactorKind;
  /** called when the recovery codes appear, with the first factor of a user */
  onCodes: () => void;
  onDone: () => void;
}

/** Adds a second factor. The first factor of a user also creates the recovery codes shown next. */
export function Enrolment({ kind, onCodes, onDone }: EnrolmentProps): ReactNode {
  const texts = useAccountTexts().enrolment;
  const [codes, setCodes] = useState<string[] | null>(null);
  const finish = async (name: string, newCodes: string[] | undefined) => {
    if (newCodes === undefined) onDone();
    else {
      // Before `changed`, which removes the page that required the factor.
      onCodes();
      setCodes(newCodes);
    }
    notifications.show({ message: texts.done(name) });
    await changed('factors');
  };
  if (codes !== null) return <RecoveryCodes codes={codes} onDone={onDone} />;
  return kind === 'totp' ? <AddApp onAdded={finish} /> : <AddPasskey onAdded={finish} />;
}
