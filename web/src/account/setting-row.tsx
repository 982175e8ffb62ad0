import { Box, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './account.module.css';

interface SettingRowProps {
  icon?: ReactNode;
  title: ReactNode;
  children?: ReactNode;
  /** button at the right */
  action?: ReactNode;
}

/** Shows a setting: its name, its current value and a button. */
export function SettingRow({ icon, title, children, action }: SettingRowProps): ReactNode {
  return (
    <Group className={classes.row} justify="space-between" gap="sm">
      <Group wrap="nowrap" gap="sm" align="flex-start" className={classes.state}>
        {icon !== undefined && <span className={classes.icon}>{icon}</span>}
        <div className={classes.text}>
          <Text fw={600} component="h3" size="sm">
            {title}
          </Text>
          {children !== undefined && (
            <Text size="sm" c="dimmed" component="div">
              {children}
            </Text>
          )}
        </div>
      </Group>
      <Box flex="none">{action}</Box>
    </Group>
  );
}
