import { Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schema } from '../api/client';
import { useLanguage } from '../texts/language';
import classes from './overview.module.css';
import { useHours } from './use-hours';
import { useHourLink } from './use-hour-link';
import { useOverviewTexts } from './use-overview-texts';

/** The logins of an hour. */
export type LoginHour = Schema<'LoginHourResponse'>;

/** Sizes in units of the SVG, which stretches to the width of the card. */
const height = 100;
const barWidth = 10;
const barGap = 3;
/** Bars from one time label to the next. */
const labelEvery = 6;

/**
 * Shows logins as stacked bars: succeeded logins at the bottom, failed logins on top. Each bar
 * links to its logins. Screen readers get a summary. `LoginsTable` has all figures.
 */
export function LoginsChart({ hours }: { hours: LoginHour[] }): ReactNode {
  const texts = useOverviewTexts().logins;
  const language = useLanguage();
  const { startOf } = useHours();
  const linkOf = useHourLink();
  const number = (value: number) => value.toLocaleString(language);
  const top = roundUp(Math.max(...hours.map(({ succeeded, failed }) => succeeded + failed)));
  const totalOf = (key: 'succeeded' | 'failed') => hours.reduce((sum, hour) => sum + hour[key], 0);
  const busiest = hours.reduce((most, hour) => (sumOf(hour) > sumOf(most) ? hour : most));
  return (
    <div className={classes.chart}>
      <div className={classes.scale} aria-hidden>
        <span>{number(top)}</span>
        <span>{number(top / 2)}</span>
        <span>0</span>
      </div>
      <svg
        // The bars of an image could not be links.
        role={linkOf === undefined ? 'img' : 'group'}
        aria-label={texts.summary(number(totalOf('succeeded')), number(totalOf('failed')), startOf(busiest.hour))}
        viewBox={`0 0 ${hours.length * (barWidth + barGap)} ${height}`}
        preserveAspectRatio="none"
        className={classes.bars}
      >
        {[0, height / 2, height].map((y) => (
          <line key={y} x1="0" x2="100%" y1={y} y2={y} className={classes.line} />
        ))}
        {hours.map((hour, index) => (
          <Bar
            key={hour.hour}
            hour={hour}
            to={linkOf?.(hour.hour)}
            x={index * (barWidth + barGap) + barGap / 2}
            top={top}
          />
        ))}
      </svg>
      <div className={classes.times} aria-hidden>
        {hours.map(({ hour }, index) =>
          index % labelEvery === 0 || index === hours.length - 1 ? (
            <span key={hour} data-last={index === hours.length - 1 || undefined}>
              {index === hours.length - 1 ? texts.now : startOf(hour)}
            </span>
          ) : (
            <span key={hour} />
          ),
        )}
      </div>
    </div>
  );
}

interface BarProps {
  hour: LoginHour;
  /** path of the logins of the hour in the audit log, if the user may see it */
  to: string | undefined;
  x: number;
  top: number;
}

function Bar({ hour, to, x, top }: BarProps): ReactNode {
  const texts = useOverviewTexts().logins;
  const language = useLanguage();
  const { rangeOf } = useHours();
  const succeeded = (hour.succeeded / top) * height;
  const failed = (hour.failed / top) * height;
  const label = texts.bar(
    rangeOf(hour.hour),
    hour.succeeded.toLocaleString(language),
    hour.failed.toLocaleString(language),
  );
  const bar = (
    <g className={classes.bar}>
      <rect x={x - barGap / 2} y="0" width={barWidth + barGap} height={height} className={classes.hit} />
      <rect x={x} y={height - succeeded} width={barWidth} height={succeeded} className={classes.succeeded} />
      <rect x={x} y={height - succeeded - failed} width={barWidth} height={failed} className={classes.failed} />
    </g>
  );
  return (
    <Tooltip label={label} openDelay={0}>
      {to === undefined ? (
        bar
      ) : (
        // The table has the same links for the keyboard, so that Tab does not stop at each bar.
        <Link to={to} tabIndex={-1} aria-label={label}>
          {bar}
        </Link>
      )}
    </Tooltip>
  );
}

const sumOf = ({ succeeded, failed }: LoginHour) => succeeded + failed;

/** Returns the top of the scale: the next number of 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, … */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  const step = [1, 2, 4, 6, 8, 10].find((factor) => factor * power >= value) ?? 10;
  return Math.max(step * power, 2);
}
