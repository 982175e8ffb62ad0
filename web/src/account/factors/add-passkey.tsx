import { Alert, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api, dataOf } from '../../api/client';
import { createPasskey } from '../../login/passkeys';
import { useAccountTexts } from '../use-account-texts';
import type { Added } from './data';
import { StartForm } from './start-form';

/** Adds a passkey. The browser asks the user for it. */
export function AddPasskey({ onAdded }: { onAdded: Added }): ReactNode {
  const texts = useAccountTexts().enrolment;
  const [isCanceled, setIsCanceled] = useState(false);
  const start = async (name: string, mailCode: { mail_code?: string }) => {
    setIsCanceled(false);
    const options = await dataOf(api.POST('/auth/factor/passkey/options', { body: mailCode }));
    const passkey = await createPasskey(options);
    setIsCanceled(passkey === null);
    if (passkey === null) return;
    const body = { name, challenge: options.challenge, passkey: passkey as Record<string, unknown> };
    const added = await dataOf(api.POST('/auth/factor/passkey', { body }));
    await onAdded(added.name, added.recovery_codes);
  };
  return (
    <Stack gap="md">
      {isCanceled && (
        <Alert role="alert" color="yellow">
          {texts.passkeyCanceled}
        </Alert>
      )}
      <StartForm intro={texts.passkeyIntro} defaultName={texts.defaultPasskeyName} onStart={start} />
    </Stack>
  );
}
