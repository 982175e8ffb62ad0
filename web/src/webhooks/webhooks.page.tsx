import { Anchor, Button, Group, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { QueryOf } from '../api/client';
import { listWebhooksFilters } from '../api/filters';
import { FilterBuilder } from '../components/filter/filter-builder';
import { DataTable } from '../components/lists/data-table';
import type { Column } from '../components/lists/stacked-rows';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { TimeText } from '../components/time-text';
import { type Webhook, webhooksQuery } from './data';
import { useWebhooksTexts } from './use-webhooks-texts';
import { ResultText, WebhookDelay, WebhookState } from './webhook-values';

/** Lists webhooks. */
export function WebhooksPage(): ReactNode {
  const texts = useWebhooksTexts();
  const params = useListParams<QueryOf<'listWebhooks'>>(listWebhooksFilters);
  const list = useQuery(webhooksQuery(params.query));
  const create = (
    <Button component={Link} to="/webhooks/create" leftSection={<IconPlus size={16} aria-hidden />}>
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} actions={create} />
      <Group gap="xs" mb="sm">
        <FilterBuilder
          fields={listWebhooksFilters}
          names={{ fields: texts.fields, choices: { state: texts.states, disabled_reason: texts.reasons } }}
          params={params}
        />
      </Group>
      <DataTable
        label={texts.title}
        columns={useColumns()}
        idOf={({ webhook_id }) => webhook_id}
        list={list}
        params={params}
        defaultSort={{ order_by: 'created_at', order_dir: 'desc' }}
        empty={{ title: texts.empty, hint: texts.emptyHint, action: create }}
      />
    </>
  );
}

function useColumns(): Column<Webhook>[] {
  const texts = useWebhooksTexts();
  const column = (key: string, render: (webhook: Webhook) => ReactNode, sortable = false) => ({
    ...{ key, render, sortable },
    title: texts.fields[key] ?? key,
  });
  return [
    column('url', ({ webhook_id, url, description }) => (
      <>
        <Anchor component={Link} to={`/webhooks/${webhook_id}`} fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
          {url}
        </Anchor>
        <Text size="xs" c="dimmed" fw={400}>
          {description}
        </Text>
      </>
    )),
    column('state', (webhook) => <WebhookState webhook={webhook} />),
    column('behind_seconds', (webhook) => <WebhookDelay webhook={webhook} />),
    column('last_result', ({ last_status, last_error }) => <ResultText status={last_status} error={last_error} />),
    column('created_at', ({ created_at }) => <TimeText value={created_at} />, true),
  ];
}
