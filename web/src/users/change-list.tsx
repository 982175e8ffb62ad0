import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useChanges } from '../audit/changes';
import { auditTexts as de } from '../audit/texts.de';
import { auditTexts as en } from '../audit/texts.en';
import { useTexts } from '../texts/language';
import classes from './users.module.css';

/** Shows the changed fields of an event of the audit log, as before → after. */
export function ChangeList({ changes }: { changes: Record<string, unknown> }): ReactNode {
  const order = Object.keys(useTexts({ en, de }).keys);
  const describe = useChanges();
  const shown = Object.entries(changes).filter(([, change]) => !isEmptyFromTheStart(change));
  if (shown.length === 0) return null;
  return (
    <dl className={classes.facts}>
      {describe(Object.fromEntries(shown))
        .sort((one, other) => order.indexOf(one.key) - order.indexOf(other.key))
        .map(({ key, name, before, after }) => (
          <div key={key} className={classes.change}>
            <Text component="dt" size="sm">
              {name}
            </Text>
            <Text component="dd" size="sm">
              {before !== null && (
                <>
                  <span className={classes.before}>{before}</span>
                  {' → '}
                </>
              )}
              {after}
            </Text>
          </div>
        ))}
    </dl>
  );
}

/** Returns whether a change only records that a new field is empty. */
function isEmptyFromTheStart(change: unknown): boolean {
  const { before, after } = change as { before?: unknown; after?: unknown };
  if (before !== undefined) return false;
  const isEmpty = typeof after === 'object' && after !== null && Object.keys(after).length === 0;
  return after === null || after === '' || after === false || isEmpty;
}
