import { Text } from '@mantine/core';
import { clsx } from 'clsx';
import type { ReactNode } from 'react';
import { useLanguage } from '../texts/language';
import classes from './figures.module.css';

/** A number with its name. */
export interface Figure {
  label: string;
  value: number;
  /** whether to highlight the number unless it is 0 */
  needsAttention?: boolean;
}

/** Shows a few numbers side by side, each below its name. */
export function Figures({ figures }: { figures: Figure[] }): ReactNode {
  const language = useLanguage();
  return (
    <dl className={classes.figures}>
      {figures.map(({ label, value, needsAttention = false }) => (
        <div key={label}>
          <Text component="dt" size="xs" c="dimmed">
            {label}
          </Text>
          <Text component="dd" className={clsx(classes.value, needsAttention && value > 0 && classes.attention)}>
            {value.toLocaleString(language)}
          </Text>
        </div>
      ))}
    </dl>
  );
}
