import { Button, Modal, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog';
import { SettingRow } from '../setting-row';
import { useAccountTexts } from '../use-account-texts';
import { renewRecoveryCodes } from './data';
import { RecoveryCodes } from './recovery-codes';

/** Number of codes from which on the row asks for attention. */
const fewCodes = 3;
const iconSize = 20;

/** Shows how many recovery codes are left, and creates new ones. */
export function RecoveryCodesRow({ left }: { left: number }): ReactNode {
  const all = useAccountTexts();
  const texts = all.factors;
  const [isAsking, setIsAsking] = useState(false);
  const [codes, setCodes] = useState<string[] | null>(null);
  const renew = async () => setCodes(await renewRecoveryCodes());
  return (
    <>
      <SettingRow
        icon={<IconKey size={iconSize} aria-hidden />}
        title={texts.recoveryCodes}
        action={
          <Button variant="default" size="xs" onClick={() => setIsAsking(true)}>
            {texts.renew}
          </Button>
        }
      >
        <Text span inherit {...(left <= fewCodes ? { fw: 600, c: 'var(--mantine-color-text)' } : {})}>
          {texts.codesLeft(left)}
        </Text>{' '}
        {texts.codesUse}
      </SettingRow>
      <ConfirmDialog
        opened={isAsking}
        title={texts.renewTitle}
        confirmLabel={texts.renew}
        onConfirm={renew}
        onClose={() => setIsAsking(false)}
      >
        <Text size="sm">{texts.renewText}</Text>
      </ConfirmDialog>
      <Modal
        opened={codes !== null}
        onClose={() => setCodes(null)}
        title={all.codes.title}
        withCloseButton={false}
        closeOnEscape={false}
        closeOnClickOutside={false}
      >
        {codes !== null && <RecoveryCodes codes={codes} onDone={() => setCodes(null)} />}
      </Modal>
    </>
  );
}
