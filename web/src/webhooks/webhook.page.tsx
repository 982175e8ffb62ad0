import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useParams } from 'react-router';
import { uuidPattern } from '../api/ids';
import { useEventName } from '../audit/use-event-name';
import { Facts } from '../components/facts';
import { BackLink, NotFoundPage, PageHeader, PageSkeleton, Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { TimeText } from '../components/time-text';
import { useUserNames } from '../users/use-user-names';
import { type Webhook, webhookQuery } from './data';
import { Deliveries } from './deliveries';
import { useWebhooksTexts } from './use-webhooks-texts';
import { WebhookActions } from './webhook-actions';
import { ResultText, WebhookDelay, WebhookState } from './webhook-values';

/** Shows a webhook with its deliveries. */
export function WebhookPage(): ReactNode {
  const { id = '' } = useParams();
  const texts = useWebhooksTexts();
  const { data: webhook, error, refetch } = useQuery({ ...webhookQuery(id), enabled: uuidPattern.test(id) });
  if (!uuidPattern.test(id)) return <NotFoundPage />;
  if (webhook === undefined)
    return error === null ? <PageSkeleton /> : <ProblemAlert error={error} onRetry={() => void refetch()} />;
  const { url, description } = webhook;
  return (
    <>
      <BackLink to="/webhooks">{texts.title}</BackLink>
      <PageHeader title={url} description={description} actions={<WebhookActions webhook={webhook} />} />
      <Stack gap="md">
        <Section title={texts.settings}>
          <WebhookFacts webhook={webhook} />
        </Section>
        <Section title={texts.deliveries} description={texts.deliveriesHint}>
          <Deliveries webhook={webhook} />
        </Section>
      </Stack>
    </>
  );
}

function WebhookFacts({ webhook }: { webhook: Webhook }): ReactNode {
  const texts = useWebhooksTexts();
  const nameOf = useEventName();
  const { webhook_id, created_by, type_in, carrier_scope, include_values, last_status, last_error } = webhook;
  const names = useUserNames([created_by]);
  const time = (value: string | null) => value !== null && <TimeText value={value} />;
  const facts: Record<string, ReactNode> = {
    state: <WebhookState webhook={webhook} />,
    behind_seconds: <WebhookDelay webhook={webhook} />,
    last_result: <ResultText status={last_status} error={last_error} />,
    last_attempt_at: time(webhook.last_attempt_at),
    failing_since: time(webhook.failing_since),
    next_attempt_at: time(webhook.next_attempt_at),
    type_in: type_in.length === 0 ? texts.allTypes : type_in.map(nameOf).join(', '),
    carrier_scope: carrier_scope?.join(', ') ?? texts.allCarriers,
    include_values: include_values && texts.yes,
    old_secret_until: time(webhook.old_secret_until),
    created_at: time(webhook.created_at),
    created_by: names[created_by] ?? created_by,
    webhook_id,
  };
  return <Facts facts={Object.entries(facts).map(([field, value]) => [texts.fields[field] ?? field, value])} />;
}
