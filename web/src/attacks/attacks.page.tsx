import { Anchor, Button, Group, ScrollArea, Stack, Table, Text } from '@mantine/core';
import { IconBan } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { PageHeader, PageSkeleton, Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { TimeText } from '../components/time-text';
import { useMe } from '../session/use-me';
import { useLanguage } from '../texts/language';
import { BlockAddressButton, BlockDialog, useMayBlock } from './block-button';
import { Blocks } from './blocks';
import { type Attacks, useAttacks } from './data';
import { useAttacksTexts } from './use-attacks-texts';

/** Shows networks and users with rejected logins, and blocks networks. */
export function AttacksPage(): ReactNode {
  const texts = useAttacksTexts();
  const language = useLanguage();
  const format = (count: number) => count.toLocaleString(language);
  const mayBlock = useMayBlock();
  const [isBlocking, setIsBlocking] = useState(false);
  const { data, error, isPending, refetch } = useAttacks();
  if (isPending) return <PageSkeleton />;
  const block = (
    <Button leftSection={<IconBan size={16} aria-hidden />} onClick={() => setIsBlocking(true)}>
      {texts.blockNetwork}
    </Button>
  );
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} actions={mayBlock && block} />
      <Stack gap="md">
        <ProblemAlert error={error} onRetry={() => void refetch()} />
        {data !== undefined && (
          <>
            <Text size="lg" fw={600}>
              {texts.rate(format(data.refused_last_hour), format(data.usual_for_the_hour))}
            </Text>
            <Networks networks={data.networks} />
            {mayBlock && <Blocks />}
            <Users users={data.users} />
          </>
        )}
      </Stack>
      <BlockDialog network={isBlocking ? '' : null} onClose={() => setIsBlocking(false)} />
    </>
  );
}

function Networks({ networks }: Pick<Attacks, 'networks'>): ReactNode {
  const texts = useAttacksTexts();
  const { columns } = texts;
  return (
    <Section title={texts.sections.networks}>
      <Rows
        label={texts.networks}
        columns={[columns.network, columns.refused, columns.logins_tried, columns.first_at, columns.last_at]}
        rows={networks.map(({ network, refused, logins_tried, first_at, last_at, blocked_until }) => [
          <Group gap="sm">
            <Anchor
              component={Link}
              to={`/audit?${new URLSearchParams({ ip: network, event_type: 'login.failed' })}`}
              inherit
            >
              {network}
            </Anchor>
            {blocked_until === undefined ? (
              <BlockAddressButton ip={network} />
            ) : (
              <Text size="sm" c="dimmed">
                {texts.blockEnds} <TimeText value={blocked_until} />
              </Text>
            )}
          </Group>,
          refused,
          logins_tried,
          <TimeText value={first_at} />,
          <TimeText value={last_at} />,
        ])}
        none={texts.noNetworks}
      />
    </Section>
  );
}

function Users({ users }: Pick<Attacks, 'users'>): ReactNode {
  const texts = useAttacksTexts();
  const { can } = useMe();
  const { columns } = texts;
  return (
    <Section title={texts.sections.users}>
      <Rows
        label={texts.users}
        columns={[columns.name, columns.refused, columns.networks, columns.last_at]}
        rows={users.map(({ user_id, name, refused, networks, last_at }) => [
          can('user:read') ? (
            <Anchor component={Link} to={`/users/${user_id}`} inherit>
              {name}
            </Anchor>
          ) : (
            name
          ),
          refused,
          networks,
          <TimeText value={last_at} />,
        ])}
        none={texts.noUsers}
      />
    </Section>
  );
}

interface RowsProps {
  label: string;
  columns: string[];
  /** up to 100 rows; the first cell names its row */
  rows: ReactNode[][];
  /** text instead of no rows */
  none: string;
}

function Rows({ label, columns, rows, none }: RowsProps): ReactNode {
  const language = useLanguage();
  if (rows.length === 0) return <Text c="dimmed">{none}</Text>;
  const cell = (value: ReactNode) => (typeof value === 'number' ? value.toLocaleString(language) : value);
  return (
    <ScrollArea.Autosize mah={420} viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}>
      <Table stickyHeader aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th key={column}>{column}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(([first, ...others], row) => (
            <Table.Tr key={row}>
              <Table.Th scope="row">{first}</Table.Th>
              {others.map((value, index) => (
                <Table.Td key={columns[index + 1]}>{cell(value)}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}
