import type { ReactNode } from 'react';
import classes from './cut-text.module.css';

/** Shows a text in one line of a table, cut where it gets too long. Its title is the whole text. */
export function CutText({ children, title = children }: { children: string; title?: string }): ReactNode {
  return (
    <span className={classes.cut} title={title}>
      {children}
    </span>
  );
}
