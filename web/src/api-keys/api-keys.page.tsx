import { Anchor, Button, Group, SegmentedControl } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { QueryOf } from '../api/client';
import { listApiKeysFilters } from '../api/filters';
import { FilterBuilder } from '../components/filter/filter-builder';
import { DataTable } from '../components/lists/data-table';
import type { Column } from '../components/lists/stacked-rows';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { DateText, TimeText } from '../components/time-text';
import { PermissionSummary } from '../permissions/permission-list';
import { ApiKeyScope, ApiKeyStatusBadge, OldSecret } from './api-key-status';
import { type ApiKey, apiKeysQuery } from './data';
import { RevokeDialog, useMayRevoke } from './revoke-dialog';
import { RotateDialog, useMayRotate } from './rotate-dialog';
import { useApiKeysTexts } from './use-api-keys-texts';

type Query = QueryOf<'listApiKeys'>;

/** Lists API keys. */
export function ApiKeysPage(): ReactNode {
  const texts = useApiKeysTexts();
  const mayRevoke = useMayRevoke();
  const mayRotate = useMayRotate();
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const [rotating, setRotating] = useState<ApiKey | null>(null);
  const columns = useColumns();
  const params = useListParams<Query>(listApiKeysFilters);
  const list = useQuery(apiKeysQuery(params.query));
  const create = (
    <Button component={Link} to="/api-keys/create" leftSection={<IconPlus size={16} aria-hidden />}>
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} actions={create} />
      <Group gap="xs" mb="sm">
        <SegmentedControl
          size="xs"
          aria-label={texts.show}
          value={params.values['active'] === 'true' ? 'true' : ''}
          onChange={(active) => params.set({ active })}
          data={[
            { value: '', label: texts.allKeys },
            { value: 'true', label: texts.onlyActive },
          ]}
        />
        <FilterBuilder
          fields={listApiKeysFilters}
          names={{ fields: texts.fields, choices: { user_type: texts.userTypes } }}
          params={params}
        />
      </Group>
      <DataTable
        label={texts.title}
        columns={columns}
        idOf={({ key_id }) => key_id}
        list={list}
        params={params}
        defaultSort={{ order_by: 'created_at', order_dir: 'desc' }}
        actions={(apiKey) => (
          <Group gap="xs" wrap="nowrap" justify="flex-end">
            {mayRotate(apiKey) && (
              <Button
                variant="default"
                size="compact-sm"
                onClick={() => setRotating(apiKey)}
                aria-label={texts.rotateOf(apiKey.name)}
              >
                {texts.rotateShort}
              </Button>
            )}
            {mayRevoke(apiKey) && (
              <Button
                color="red"
                variant="subtle"
                size="compact-sm"
                onClick={() => setRevoking(apiKey)}
                aria-label={texts.revokeOf(apiKey.name)}
              >
                {texts.revokeShort}
              </Button>
            )}
          </Group>
        )}
        empty={{ title: texts.empty, hint: texts.emptyHint, action: create }}
      />
      <RotateDialog apiKey={rotating} onClose={() => setRotating(null)} />
      <RevokeDialog apiKey={revoking} onClose={() => setRevoking(null)} />
    </>
  );
}

function useColumns(): Column<ApiKey>[] {
  const texts = useApiKeysTexts();
  const title = (field: string) => texts.fields[field] ?? field;
  return [
    {
      key: 'name',
      title: title('name'),
      render: ({ key_id, name }) => (
        <Anchor component={Link} to={`/api-keys/${key_id}`} fw={600} size="sm">
          {name}
        </Anchor>
      ),
      sortable: true,
    },
    {
      key: 'status',
      title: texts.columns.status,
      render: (apiKey) => (
        <>
          <ApiKeyStatusBadge apiKey={apiKey} />
          <OldSecret apiKey={apiKey} />
        </>
      ),
    },
    {
      key: 'permissions',
      title: texts.columns.permissions,
      render: ({ permissions }) => <PermissionSummary permissions={permissions} />,
    },
    { key: 'scope', title: texts.columns.scope, render: (apiKey) => <ApiKeyScope apiKey={apiKey} /> },
    {
      key: 'last_used_at',
      title: title('last_used_at'),
      render: ({ last_used_at }) => <TimeText value={last_used_at} />,
      sortable: true,
    },
    {
      key: 'expires_at',
      title: title('expires_at'),
      render: ({ expires_at }) => <DateText value={expires_at} />,
      sortable: true,
    },
  ];
}
