import { NativeSelect, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api, dataOf } from '../api/client';
import { changed } from '../api/stale';
import { ConfirmDialog } from '../components/dialogs/confirm-dialog';
import { SecretDialog } from '../components/dialogs/secret-dialog';
import { useMe } from '../session/use-me';
import { type ApiKey, statusOf } from './data';
import { expiryTime } from './expiry-fields';
import { useApiKeysTexts } from './use-api-keys-texts';

const expiries = ['days30', 'days90', 'days180', 'year'] as const;

/** Returns a function that decides whether the user may replace the secret of a key. */
export function useMayRotate(): (apiKey: ApiKey) => boolean {
  const { can } = useMe();
  return ({ active, permissions }) => active && permissions.every(can);
}

/** Replaces the secret of an API key, and shows it once. `apiKey` = null closes the dialog. */
export function RotateDialog({ apiKey, onClose }: { apiKey: ApiKey | null; onClose: () => void }): ReactNode {
  const texts = useApiKeysTexts();
  const [keep, setKeep] = useState('86400');
  const [chosen, setChosen] = useState<(typeof expiries)[number] | ''>();
  // Kept only in this component: the secret must not enter the query cache.
  const [secret, setSecret] = useState<string | null>(null);
  // A key that is about to expire is usually rotated for that reason.
  const choice = chosen ?? (apiKey !== null && statusOf(apiKey) === 'expiring' ? 'days90' : '');
  const rotate = async ({ key_id }: ApiKey) => {
    const params = { path: { key_id } };
    const expiry = choice === '' ? {} : { expires_at: expiryTime({ choice, time: '' }) };
    const body = { keep_old_seconds: Number(keep), ...expiry };
    setSecret((await dataOf(api.POST('/auth/key/{key_id}/rotate', { params, body }))).key);
    setChosen(undefined);
    void changed('api-keys');
  };
  return (
    <>
      <ConfirmDialog
        opened={apiKey !== null}
        title={texts.rotateTitle(apiKey?.name ?? '')}
        confirmLabel={texts.rotate}
        onConfirm={() => (apiKey === null ? Promise.resolve() : rotate(apiKey))}
        onClose={onClose}
      >
        <Stack gap="sm">
          <Text size="sm">{texts.rotateText}</Text>
          <NativeSelect
            label={texts.keep}
            value={keep}
            onChange={(event) => setKeep(event.currentTarget.value)}
            data={Object.entries(texts.keepFor).map(([value, label]) => ({ value, label }))}
          />
          <NativeSelect
            label={texts.expiry}
            value={choice}
            onChange={(event) => setChosen(event.currentTarget.value as typeof choice)}
            data={[
              { value: '', label: texts.expiryUnchanged },
              ...expiries.map((value) => ({ value, label: texts.expiryChoices[value] })),
            ]}
          />
        </Stack>
      </ConfirmDialog>
      <SecretDialog
        value={secret}
        texts={texts.created}
        example="Authorization: Bearer cik_…"
        onDone={() => setSecret(null)}
      />
    </>
  );
}
