import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPlayerPlay } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { api } from '../api/client';
import { changed } from '../api/stale';
import { useErrorTexts } from '../texts/use-error-texts';
import type { ApiKey } from './data';
import { useApiKeysTexts } from './use-api-keys-texts';

/** Lets a suspended API key work again. */
export function ResumeButton({ apiKey: { key_id, name } }: { apiKey: ApiKey }): ReactNode {
  const texts = useApiKeysTexts();
  const { textOf } = useErrorTexts();
  const resume = async () => {
    await api.POST('/auth/key/{key_id}/resume', { params: { path: { key_id } } });
    notifications.show({ message: texts.resumed(name) });
    await changed('api-keys');
  };
  return (
    <Button
      leftSection={<IconPlayerPlay size={16} aria-hidden />}
      onClick={() => {
        resume().catch((error: unknown) => notifications.show({ color: 'red', message: textOf(error) }));
      }}
    >
      {texts.resume}
    </Button>
  );
}
