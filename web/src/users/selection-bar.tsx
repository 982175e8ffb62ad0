import { Button, Group, Paper, Text } from '@mantine/core';
import { IconEdit } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useTexts } from '../texts/language';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';
import type { User } from './user';

/** Parameters of the list that are not conditions. */
const noConditions = ['order_by', 'order_dir', 'deleted'];

/** Maximum number of values of a condition, and so of ids in a bulk change. */
const selectedMax = 500;

/** Returns the path of a bulk change of the users that match the filter of a list. */
export function bulkPathOf(values: Record<string, string>): string {
  const conditions = Object.entries(values).filter(([name]) => !noConditions.includes(name));
  return `/users/bulk?${new URLSearchParams(conditions).toString()}`;
}

interface SelectionBarProps {
  selected: User[];
  onClear: () => void;
}

/** Shows how many users are selected, and links to their bulk change. */
export function SelectionBar({ selected, onClear }: SelectionBarProps): ReactNode {
  const texts = useTexts({ en, de }).selection;
  const ids = selected.map(({ user_id }) => user_id).join(',');
  return (
    <Paper withBorder px="sm" py={6} mb="sm" radius="md" role="region" aria-label={texts.label}>
      <Group gap="sm">
        <Text size="sm" fw={500} role="status">
          {texts.count(selected.length)}
        </Text>
        {selected.length > selectedMax ? (
          <Text size="sm">{texts.tooMany(selectedMax)}</Text>
        ) : (
          <Button
            component={Link}
            to={bulkPathOf({ user_id_in: ids })}
            size="xs"
            leftSection={<IconEdit size={14} aria-hidden />}
          >
            {texts.change}
          </Button>
        )}
        <Button variant="subtle" color="gray" size="xs" onClick={onClear}>
          {texts.clear}
        </Button>
      </Group>
    </Paper>
  );
}
