import { Text, VisuallyHidden } from '@mantine/core';
import { IconArrowRight } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './audit.module.css';
import { type FieldChange, useChanges } from './changes';
import { useAuditTexts } from './use-audit-texts';

const shownMax = 2;

/** Shows the first changes of an event, one per line. */
export function ChangeSummary({ changes }: { changes: Record<string, unknown> }): ReactNode {
  const texts = useAuditTexts();
  const all = useChanges()(changes);
  if (all.length === 0) return null;
  // Showing one more field takes no more space than the line "and 1 more".
  const shown = all.length === shownMax + 1 ? all : all.slice(0, shownMax);
  return (
    <div className={classes.summary}>
      {shown.map((change) => (
        <div key={change.key} className={classes.change}>
          <span className={classes.key}>{change.name}</span> <Values change={change} />
        </div>
      ))}
      {all.length > shown.length && (
        <Text size="xs" c="dimmed">
          {texts.more(all.length - shown.length)}
        </Text>
      )}
    </div>
  );
}

function Values({ change: { before, after } }: { change: FieldChange }): ReactNode {
  const texts = useAuditTexts();
  if (before === null || after === null) return <span className={classes.after}>{after ?? before ?? ''}</span>;
  return (
    <>
      <span className={classes.before}>{before}</span>
      <IconArrowRight size={12} aria-hidden className={classes.arrow} />
      <VisuallyHidden component="span"> {texts.becomes} </VisuallyHidden>
      <span className={classes.after}>{after}</span>
    </>
  );
}
