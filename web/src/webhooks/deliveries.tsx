import { Anchor, Code, Drawer, SegmentedControl, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { QueryOf } from '../api/client';
import { listDeliveriesFilters } from '../api/filters';
import { useEventName } from '../audit/use-event-name';
import { Facts } from '../components/facts';
import { DataTable } from '../components/lists/data-table';
import { useListParams } from '../components/lists/use-list-params';
import { exactTime, TimeText } from '../components/time-text';
import { useLanguage, useTexts } from '../texts/language';
import { useShellTexts } from '../texts/use-shell-texts';
import { deliveriesQuery, type Delivery, retryDelivery, type Webhook } from './data';
import { SendButton } from './send-button';
import { webhooksTexts as de } from './texts.de';
import { webhooksTexts as en } from './texts.en';
import { ResultText } from './webhook-values';

/** Lists the requests of a webhook, shows their responses, and sends them again. */
export function Deliveries({ webhook: { webhook_id, state } }: { webhook: Webhook }): ReactNode {
  const texts = useTexts({ en, de });
  const nameOf = useTypeName();
  const [shown, setShown] = useState<Delivery | null>(null);
  const params = useListParams<QueryOf<'listDeliveries'>>(listDeliveriesFilters);
  const list = useQuery(deliveriesQuery(webhook_id, params.query));
  return (
    <>
      <SegmentedControl
        size="xs"
        mb="sm"
        aria-label={texts.show.label}
        value={params.values['failed'] === 'true' ? 'true' : ''}
        onChange={(failed) => params.set({ failed })}
        data={[
          { value: '', label: texts.show.all },
          { value: 'true', label: texts.show.failed },
        ]}
      />
      <DataTable
        label={texts.deliveryList}
        idOf={({ delivery_id }) => delivery_id}
        list={list}
        params={params}
        columns={[
          {
            key: 'type',
            title: texts.change,
            render: (delivery) => (
              <Anchor component="button" size="sm" onClick={() => setShown(delivery)}>
                {nameOf(delivery.type)}
              </Anchor>
            ),
          },
          { key: 'result', title: texts.result, render: (delivery) => <Result delivery={delivery} /> },
          { key: 'attempt', title: texts.attempt, render: ({ attempt, kind }) => texts.kinds[kind] || attempt },
          {
            key: 'created_at',
            title: texts.request,
            render: ({ created_at }) => <TimeText value={created_at} />,
          },
        ]}
        actions={({ delivery_id, type, attempted_at }) =>
          attempted_at !== null &&
          state !== 'disabled' && (
            <SendButton
              size="compact-sm"
              aria-label={texts.retryOf(nameOf(type))}
              send={() => retryDelivery(webhook_id, delivery_id)}
            >
              {texts.retry}
            </SendButton>
          )
        }
        empty={{ title: texts.noDeliveries }}
      />
      <DeliveryDetails delivery={shown} onClose={() => setShown(null)} />
    </>
  );
}

function Result({ delivery: { attempted_at, status, error } }: { delivery: Delivery }): ReactNode {
  const { waiting } = useTexts({ en, de });
  return attempted_at === null ? waiting : <ResultText status={status} error={error} />;
}

function DeliveryDetails({ delivery, onClose }: { delivery: Delivery | null; onClose: () => void }): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const nameOf = useTypeName();
  const { close } = useShellTexts();
  const fact = (field: string, value: ReactNode): [string, ReactNode] => [texts.fields[field] ?? field, value];
  return (
    <Drawer
      opened={delivery !== null}
      onClose={onClose}
      position="right"
      size="lg"
      title={delivery !== null && nameOf(delivery.type)}
      closeButtonProps={{ 'aria-label': close }}
      // Otherwise its `header` element would be a second banner of the page.
      attributes={{ header: { role: 'presentation' } }}
    >
      {delivery !== null && (
        <Stack gap="lg">
          <Facts
            facts={[
              [texts.result, <Result delivery={delivery} />],
              [texts.request, exactTime(new Date(delivery.created_at), language)],
              fact('duration_ms', delivery.duration_ms !== null && `${delivery.duration_ms} ms`),
              fact('change_id', delivery.change_id),
            ]}
          />
          {delivery.request !== null && (
            <Body title={texts.request} text={JSON.stringify(JSON.parse(delivery.request), null, 2)} />
          )}
          {Boolean(delivery.response) && <Body title={texts.result} text={delivery.response ?? ''} />}
        </Stack>
      )}
    </Drawer>
  );
}

function Body({ title, text }: { title: string; text: string }): ReactNode {
  return (
    <section>
      <Title order={3} size="h5" mb="xs">
        {title}
      </Title>
      <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text}
      </Code>
    </section>
  );
}

function useTypeName(): (type: string) => string {
  const { kinds } = useTexts({ en, de });
  const nameOf = useEventName();
  return (type) => (type === 'webhook.test' ? kinds.test : nameOf(type));
}
