import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPlayerPlay } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { api } from '../api/client';
import { changed } from '../api/stale';
import { useTexts } from '../texts/language';
import { useErrorTexts } from '../texts/use-error-texts';
import type { ApiKey } from './api-key';
import { apiKeysTexts as de } from './texts.de';
import { apiKeysTexts as en } from './texts.en';

/** Lets a suspended API key work again. */
export function ResumeButton({ apiKey: { key_id, name } }: { apiKey: ApiKey }): ReactNode {
  const texts = useTexts({ en, de });
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
