import { Button, type ButtonProps } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useErrorTexts } from '../texts/use-error-texts';
import { useWebhooksTexts } from './use-webhooks-texts';

type SendButtonProps = Pick<ButtonProps, 'size'> & {
  'aria-label'?: string;
  send: () => Promise<unknown>;
  children: string;
};

/** Requests that a webhook sends a test, or a change once more. */
export function SendButton({ send, ...rest }: SendButtonProps): ReactNode {
  const { done } = useWebhooksTexts();
  const { textOf } = useErrorTexts();
  const { isPending, mutate } = useMutation({
    mutationFn: send,
    onSuccess: () => notifications.show({ message: done }),
    onError: (error) => notifications.show({ color: 'red', message: textOf(error) }),
  });
  return <Button variant="default" loading={isPending} onClick={() => mutate()} {...rest} />;
}
