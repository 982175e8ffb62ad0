import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { own } from '../own';
import { useValueText } from '../users/use-value-text';
import classes from './change-summary.module.css';
import { useBulkTexts } from './use-bulk-texts';

/** Shows the fields of a bulk change with their new values. */
export function ChangeSummary({ change }: { change: Record<string, unknown> }): ReactNode {
  const texts = useBulkTexts();
  const valueText = useValueText();
  return (
    <dl className={classes.list}>
      {Object.entries(change).map(([field, value]) => (
        <div key={field} className={classes.row}>
          <Text component="dt" size="sm" c="dimmed">
            {own(texts.fields, field) ?? field}
          </Text>
          <Text component="dd" size="sm" className={classes.value}>
            {valueText(field, value)}
          </Text>
        </div>
      ))}
    </dl>
  );
}
