import { Anchor, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schema } from '../api/client';
import { Section } from '../components/page';
import { useLanguage } from '../texts/language';
import classes from './overview.module.css';
import { useOverviewTexts } from './use-overview-texts';

type UserCount = Schema<'UserCountResponse'>;

const statuses = ['active', 'invited', 'disabled'] as const;
const types = ['carrier', 'system'] as const;

/** Shows the number of users by status and type. Each number links to its users. */
export function UsersCard({ counts }: { counts: UserCount[] }): ReactNode {
  const texts = useOverviewTexts().users;
  const language = useLanguage();
  // Carrier Users see Carrier Users only.
  const shown = types.filter((type) => type === 'carrier' || counts.some(({ user_type }) => user_type === type));
  const sumOf = (matches: (count: UserCount) => boolean) =>
    counts.filter(matches).reduce((sum, { count }) => sum + count, 0);
  const cell = (type: UserCount['user_type'], status?: UserCount['status']) => {
    const count = sumOf((one) => one.user_type === type && (status === undefined || one.status === status));
    const number = count.toLocaleString(language);
    const name = status === undefined ? texts.total : texts.status[status];
    return (
      <Table.Td key={type} className={classes.cell}>
        <Anchor
          component={Link}
          to={`/users?${new URLSearchParams({ user_type: type, ...(status === undefined ? {} : { status }) })}`}
          aria-label={texts.link(number, texts.types[type], name)}
          inherit
          c={count === 0 ? 'dimmed' : 'inherit'}
        >
          {number}
        </Anchor>
      </Table.Td>
    );
  };
  return (
    <Section title={texts.title}>
      <Table verticalSpacing={5} horizontalSpacing={0} layout="fixed" aria-label={texts.title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th c="dimmed" fw={400} fz="xs">
              {texts.statusTitle}
            </Table.Th>
            {shown.map((type) => (
              <Table.Th key={type} className={classes.cell} c="dimmed" fw={400} fz="xs">
                {texts.types[type]}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {statuses.map((status) => (
            <Table.Tr key={status}>
              <Table.Th scope="row" fw={400}>
                <span className={classes.dot} data-status={status} aria-hidden />
                {texts.status[status]}
              </Table.Th>
              {shown.map((type) => cell(type, status))}
            </Table.Tr>
          ))}
          <Table.Tr fw={600}>
            <Table.Th scope="row">{texts.total}</Table.Th>
            {shown.map((type) => cell(type))}
          </Table.Tr>
        </Table.Tbody>
      </Table>
    </Section>
  );
}
