import { Badge, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { durationText } from '../components/time-text';
import { own } from '../own';
import { useLanguage } from '../texts/language';
import type { Webhook } from './data';
import { useWebhooksTexts } from './use-webhooks-texts';

const colors = { active: 'green', failing: 'orange', disabled: 'gray' };

/** Shows the state of a webhook, and why it is disabled. */
export function WebhookState({ webhook: { state, disabled_reason } }: { webhook: Webhook }): ReactNode {
  const texts = useWebhooksTexts();
  return (
    <>
      <Badge variant="light" color={colors[state]}>
        {texts.states[state]}
      </Badge>
      <Text size="xs" c="dimmed">
        {disabled_reason !== null && texts.reasons[disabled_reason]}
      </Text>
    </>
  );
}

/** Shows how far a webhook is behind. */
export function WebhookDelay({ webhook: { behind_seconds } }: { webhook: Webhook }): ReactNode {
  const { noDelay } = useWebhooksTexts();
  const language = useLanguage();
  return behind_seconds === 0 ? noDelay : durationText(behind_seconds, language);
}

/** Shows the status of a response, or why there is none. */
export function ResultText({ status, error }: { status: number | null; error: string | null }): ReactNode {
  const { errors } = useWebhooksTexts();
  if (error === null && status === null) return '–';
  return (
    <Text span inherit {...((status ?? 0) > 299 || error !== null ? { c: 'var(--mantine-color-error)' } : {})}>
      {error === null ? status : (own(errors, error) ?? error)}
    </Text>
  );
}
