import { type ReactNode, useState } from 'react';
import { Dialog } from '../../components/dialogs/dialog';
import { useFreshAuthentication } from '../../session/fresh-authentication';
import { useAccountTexts } from '../use-account-texts';
import { Enrolment } from './enrolment';
import type { FactorKind } from './data';

/** Adds a second factor. Cannot be closed by accident while it shows recovery codes. */
export function AddFactorDialog({ kind, onClose }: { kind: FactorKind | null; onClose: () => void }): ReactNode {
  const texts = useAccountTexts();
  // Hide this dialog while the dialog for the fresh authentication is open.
  const isProving = useFreshAuthentication() !== null;
  const [hasCodes, setHasCodes] = useState(false);
  const finish = () => {
    setHasCodes(false);
    onClose();
  };
  const title = kind === 'totp' ? texts.factors.addTotp : texts.factors.addPasskey;
  return (
    <Dialog
      opened={kind !== null}
      onClose={finish}
      title={hasCodes ? texts.codes.title : title}
      withCloseButton={!hasCodes}
      closeOnEscape={!hasCodes && !isProving}
      trapFocus={!isProving}
      styles={isProving ? { root: { visibility: 'hidden' } } : {}}
      closeOnClickOutside={false}
    >
      {kind !== null && <Enrolment kind={kind} onCodes={() => setHasCodes(true)} onDone={finish} />}
    </Dialog>
  );
}
