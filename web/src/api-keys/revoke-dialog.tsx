import { Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { api } from '../api/client';
import { changed } from '../api/stale';
import { ConfirmDialog } from '../components/dialogs/confirm-dialog';
import { TimeText } from '../components/time-text';
import { useMe } from '../session/use-me';
import { type ApiKey, statusOf } from './data';
import { useApiKeysTexts } from './use-api-keys-texts';

/**
 * Returns a function that decides whether the user may revoke a key: an active or suspended key
 * with only their permissions.
 */
export function useMayRevoke(): (apiKey: ApiKey) => boolean {
  const { can } = useMe();
  return (apiKey) => !['expired', 'revoked'].includes(statusOf(apiKey)) && apiKey.permissions.every(can);
}

/** Asks before an API key is revoked. `apiKey` = null closes the dialog. */
export function RevokeDialog({ apiKey, onClose }: { apiKey: ApiKey | null; onClose: () => void }): ReactNode {
  const texts = useApiKeysTexts();
  const revoke = async ({ key_id, name }: ApiKey) => {
    await api.DELETE('/auth/key/{key_id}', { params: { path: { key_id } } });
    notifications.show({ message: texts.revoked(name) });
    void changed('api-keys');
  };
  return (
    <ConfirmDialog
      opened={apiKey !== null}
      title={texts.revokeTitle(apiKey?.name ?? '')}
      confirmLabel={texts.revoke}
      isDestructive
      onConfirm={() => (apiKey === null ? Promise.resolve() : revoke(apiKey))}
      onClose={onClose}
    >
      <Stack gap="xs">
        <Text size="sm">{texts.revokeText}</Text>
        <Text size="sm">
          {apiKey === null || apiKey.last_used_at === null ? (
            texts.revokeUnused
          ) : (
            <>
              {texts.revokeUsed} <TimeText value={apiKey.last_used_at} />
              {apiKey.last_used_ip !== null && ` ${texts.usedFrom(apiKey.last_used_ip)}`}
            </>
          )}
        </Text>
      </Stack>
    </ConfirmDialog>
  );
}
