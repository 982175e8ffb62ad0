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
  /** path of the list that was counted */
  to: string;
}

/** Shows a figure that links to its list. */
export function FigureCard({ label, hint, value, to }: FigureCardProps): ReactNode {
  const language = useLanguage();
  return (
    <Paper component={Link} to={to} withBorder p="md" radius="md" className={`mantine-focus-auto ${classes.figure}`}>
      <div className={classes.figureLabel}>
        <Text component="span" fw={600}>
          {label}
        </Text>
        <IconChevronRight size={16} aria-hidden />
      </div>
      <Text component="span" className={classes.number}>
        {value.toLocaleString(language)}
      </Text>
      <Text component="span" size="xs" c="dimmed">
        {hint}
      </Text>
    </Paper>
  );
}
