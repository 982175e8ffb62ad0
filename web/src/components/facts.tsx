import { Text } from '@mantine/core';
import { clsx } from 'clsx';
import { Fragment, type ReactNode } from 'react';
import { useLanguage } from '../texts/language';
import classes from './facts.module.css';

/** Shows values beside their names. Omits entries without a value. */
export function Facts({ facts }: { facts: [name: string, value: ReactNode][] }): ReactNode {
  return (
    <div className={classes.box}>
      <dl className={classes.facts}>
        {facts
          .filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '')
          .map(([name, value]) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
      </dl>
    </div>
  );
}

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
