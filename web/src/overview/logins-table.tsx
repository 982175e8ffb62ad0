import { Anchor, ScrollArea, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useLanguage } from '../texts/language';
import type { LoginHour } from './logins-chart';
import classes from './overview.module.css';
import { useHours } from './use-hours';
import { useHourLink } from './use-hour-link';
import { useOverviewTexts } from './use-overview-texts';

/** Shows the figures of the chart as a table, newest hour first. */
export function LoginsTable({ hours }: { hours: LoginHour[] }): ReactNode {
  const texts = useOverviewTexts().logins;
  const language = useLanguage();
  const { rangeOf } = useHours();
  const linkOf = useHourLink();
  return (
    <ScrollArea.Autosize mah={300} viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': texts.byHour }}>
      <Table verticalSpacing={5} stickyHeader aria-label={texts.title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.hour}</Table.Th>
            <Table.Th className={classes.cell}>{texts.succeeded}</Table.Th>
            <Table.Th className={classes.cell}>{texts.failed}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {hours.toReversed().map(({ hour, succeeded, failed }) => (
            <Table.Tr key={hour}>
              <Table.Th scope="row" fw={400}>
                {linkOf === undefined ? (
                  rangeOf(hour)
                ) : (
                  <Anchor component={Link} to={linkOf(hour)} inherit>
                    {rangeOf(hour)}
                  </Anchor>
                )}
              </Table.Th>
              <Table.Td className={classes.cell}>{succeeded.toLocaleString(language)}</Table.Td>
              <Table.Td className={classes.cell}>{failed.toLocaleString(language)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}
