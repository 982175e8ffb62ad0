import { Paper, Text } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useLanguage } from '../texts/language';
import classes from './overview.module.css';

interface FigureCardProps {
  label: string;
  hint: string;
  value: number;
  /** path of the list that was counted, unless the user may not see it */
  to?: string | undefined;
}

/** Shows a figure that links to its list, if the user may see the list. */
export function FigureCard({ label, hint, value, to }: FigureCardProps): ReactNode {
  const language = useLanguage();
  const figure = (
    <>
      <span className={classes.figureLabel}>
        <Text component="span" fw={600}>
          {label}
        </Text>
        {to !== undefined && <IconChevronRight size={16} aria-hidden />}
      </span>
      <Text component="span" className={classes.number}>
        {value.toLocaleString(language)}
      </Text>
      <Text component="span" size="xs" c="dimmed">
        {hint}
      </Text>
    </>
  );
  const frame = { withBorder: true, p: 'md', radius: 'md' } as const;
  if (to === undefined)
    return (
      <Paper {...frame} className={classes.figure}>
        {figure}
      </Paper>
    );
  return (
    <Paper {...frame} component={Link} to={to} className={`mantine-focus-auto ${classes.figure}`}>
      {figure}
    </Paper>
  );
}
