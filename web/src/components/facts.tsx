import { Fragment, type ReactNode } from 'react';
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
