import { Group } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './form-actions.module.css';

/** Keeps the buttons at the end of a long form in view. */
export function FormActions({ children }: { children: ReactNode }): ReactNode {
  return (
    <Group justify="flex-end" className={classes.actions}>
      {children}
    </Group>
  );
}
