import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { QueryOf } from '../api/client';
import { listAddressBlocksFilters } from '../api/filters';
import { DataTable } from '../components/lists/data-table';
import { useListParams } from '../components/lists/use-list-params';
import { Section } from '../components/page';
import { TimeText } from '../components/time-text';
import { useErrorTexts } from '../texts/use-error-texts';
import { useUserNames } from '../users/use-user-names';
import { type AddressBlock, removeBlock, useAddressBlocks } from './data';
import { useAttacksTexts } from './use-attacks-texts';

/** Lists the blocked networks, and removes blocks. */
export function Blocks(): ReactNode {
  const texts = useAttacksTexts();
  const { columns } = texts;
  const params = useListParams<QueryOf<'listAddressBlocks'>>(listAddressBlocksFilters);
  const list = useAddressBlocks(params.query);
  const names = useUserNames(list.data?.items.map(({ created_by }) => created_by) ?? []);
  return (
    <Section title={texts.sections.blocks}>
      <DataTable
        label={texts.blocks}
        columns={[
          { key: 'network', title: columns.network, render: ({ network }) => network },
          { key: 'reason', title: columns.reason, render: ({ reason }) => reason ?? '–' },
          { key: 'created_by', title: columns.created_by, render: ({ created_by }) => names[created_by] ?? created_by },
          {
            key: 'expires_at',
            title: columns.expires_at,
            render: ({ expires_at }) => <TimeText value={expires_at} />,
            sortable: true,
          },
        ]}
        idOf={({ address_block_id }) => address_block_id}
        list={list}
        params={params}
        defaultSort={{ order_by: 'created_at', order_dir: 'desc' }}
        actions={(block) => <RemoveButton block={block} />}
        empty={{ title: texts.noBlocks, hint: texts.noBlocksHint }}
      />
    </Section>
  );
}

function RemoveButton({ block: { address_block_id, network } }: { block: AddressBlock }): ReactNode {
  const texts = useAttacksTexts();
  const { textOf } = useErrorTexts();
  const remove = useMutation({
    mutationFn: () => removeBlock(address_block_id),
    onSuccess: () => notifications.show({ message: texts.removed(network) }),
    onError: (error) => notifications.show({ color: 'red', message: textOf(error) }),
  });
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={remove.isPending}
      onClick={() => remove.mutate()}
      aria-label={texts.removeOf(network)}
    >
      {texts.remove}
    </Button>
  );
}
