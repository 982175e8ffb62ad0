import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Schema } from '../api/client';
import { useErrorTexts } from '../texts/use-error-texts';
import { retryMail } from './data';
import { useMailsTexts } from './use-mails-texts';

/** Colors of the states of mails. */
export const stateColors = { waiting: 'gray', retrying: 'orange', sending: 'blue', failed: 'red', sent: 'green' };

interface RetryMailProps {
  mail: Pick<Schema<'UserMailResponse'>, 'mail_id' | 'kind' | 'state'>;
  recipient: string;
}

/** Sends a waiting or failed mail now. Shows nothing for any other mail. */
export function RetryMail({ mail: { mail_id = '', kind, state }, recipient }: RetryMailProps): ReactNode {
  const texts = useMailsTexts();
  const { textOf } = useErrorTexts();
  const retry = useMutation({
    mutationFn: () => retryMail(mail_id),
    onSuccess: () => notifications.show({ message: texts.retried }),
    onError: (error) => notifications.show({ color: 'red', message: textOf(error) }),
  });
  if (state === 'sending' || state === 'sent') return null;
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={retry.isPending}
      onClick={() => retry.mutate()}
      aria-label={texts.retryOf(texts.kinds[kind], recipient)}
    >
      {texts.retry}
    </Button>
  );
}
