import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useFailureReason } from '../audit/use-event-name';
import { useTexts } from '../texts/language';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';
import { useValueText } from './use-value-text';
import classes from './users.module.css';

/** The changed fields of an event of the audit log, as before → after. */
export function ChangeList({ changes }: { changes: Record<string, unknown> }): ReactNode {
  const texts = useTexts({ en, de });
  const textOf = useValueText();
  const reasonOf = useFailureReason();
  const names: Record<string, string> = texts.fields;
  const order = Object.keys(names);
  const shown = (field: string, value: unknown) =>
    field === 'reason' && typeof value === 'string' ? reasonOf(value) : textOf(field, value);
  const entries = Object.entries(changes)
    .filter(([, change]) => !isEmptyFromTheStart(change))
    .sort(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  if (entries.length === 0) return null;
  return (
    <dl className={classes.facts}>
      {entries.map(([field, change]) => {
        const { before, after } = change as { before?: unknown; after?: unknown };
        return (
          <div key={field} className={classes.change}>
            <Text component="dt" size="sm">
              {names[field] ?? field}
            </Text>
            <Text component="dd" size="sm">
              {before !== undefined && (
                <>
                  <span className={classes.before}>{shown(field, before)}</span>
                  {' → '}
                </>
              )}
              {shown(field, after)}
            </Text>
          </div>
        );
      })}
    </dl>
  );
}

/** Returns whether a field was empty from the start. Such fields are not shown. */
function isEmptyFromTheStart(change: unknown): boolean {
  const { before, after } = change as { before?: unknown; after?: unknown };
  if (before !== undefined) return false;
  const isEmpty = typeof after === 'object' && after !== null && Object.keys(after).length === 0;
  return after === null || after === '' || after === false || isEmpty;
}
