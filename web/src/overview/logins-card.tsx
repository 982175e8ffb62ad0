import { Anchor, Button, Group, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { Section } from '../components/page';
import { useMe } from '../session/use-me';
import { useLanguage } from '../texts/language';
import { type LoginHour, LoginsChart } from './logins-chart';
import { LoginsTable } from './logins-table';
import classes from './overview.module.css';
import { useOverviewTexts } from './use-overview-texts';

/** Shows the logins of the last 24 hours as a chart or a table. */
export function LoginsCard({ hours }: { hours: LoginHour[] }): ReactNode {
  const texts = useOverviewTexts().logins;
  const [isTable, setIsTable] = useState(false);
  const succeeded = hours.reduce((sum, hour) => sum + hour.succeeded, 0);
  const failed = hours.reduce((sum, hour) => sum + hour.failed, 0);
  const isEmpty = succeeded + failed === 0;
  return (
    <Section
      title={texts.title}
      actions={
        !isEmpty && (
          <Button variant="subtle" color="gray" size="compact-sm" onClick={() => setIsTable(!isTable)}>
            {isTable ? texts.asChart : texts.asTable}
          </Button>
        )
      }
    >
      <Group gap="xl" mb="md">
        <Total kind="succeeded" label={texts.succeeded} value={succeeded} since={hours[0]?.hour} />
        <Total kind="failed" label={texts.failed} value={failed} since={hours[0]?.hour} />
      </Group>
      {isEmpty ? (
        <Text c="dimmed">{texts.none}</Text>
      ) : isTable ? (
        <LoginsTable hours={hours} />
      ) : (
        <LoginsChart hours={hours} />
      )}
    </Section>
  );
}

interface TotalProps {
  kind: 'succeeded' | 'failed';
  label: string;
  value: number;
  since: string | undefined;
}

/** Shows a total that links to its events. Its color is the legend of the chart. */
function Total({ kind, label, value, since = '' }: TotalProps): ReactNode {
  const { can } = useMe();
  const language = useLanguage();
  const filter = new URLSearchParams({ event_type: `login.${kind}`, occurred_at_gte: since });
  return (
    <div>
      <Text size="xs" c="dimmed">
        <span className={classes.swatch} data-kind={kind} aria-hidden />
        {label}
      </Text>
      <Text className={classes.number}>
        {can('audit:read') ? (
          <Anchor component={Link} to={`/audit?${filter}`} inherit c="inherit">
            {value.toLocaleString(language)}
          </Anchor>
        ) : (
          value.toLocaleString(language)
        )}
      </Text>
    </div>
  );
}
