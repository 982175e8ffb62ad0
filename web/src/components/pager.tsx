import { Button, Group, Text } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useShortcuts } from '../shell/shortcuts';
import { useLanguage } from '../texts/language';
import { useShellTexts } from '../texts/use-shell-texts';
import type { ListPage } from './data-table';
import classes from './pager.module.css';
import type { ListParams } from './use-list-params';

/** Shows the total number of rows, and buttons for the previous and next page (keys K and J). */
export function Pager({ page, params }: { page: ListPage<unknown>; params: ListParams<object> }): ReactNode {
  const texts = useShellTexts().table;
  const language = useLanguage();
  const { next_cursor, total } = page;
  const next = () => next_cursor !== null && params.next(next_cursor);
  const previous = () => params.page > 0 && params.previous();
  useShortcuts({ j: next, k: previous });
  return (
    <Group justify="space-between" className={classes.pager}>
      <Text size="sm" c="dimmed" role="status">
        {total !== null &&
          total.value > 0 &&
          texts.total(total.value.toLocaleString(language), total.relation === 'eq')}
      </Text>
      {(next_cursor !== null || params.page > 0) && (
        <Group gap="xs">
          <Button
            variant="default"
            size="xs"
            disabled={params.page === 0}
            onClick={previous}
            leftSection={<IconChevronLeft size={16} aria-hidden />}
          >
            {texts.previous}
          </Button>
          <Button
            variant="default"
            size="xs"
            disabled={next_cursor === null}
            onClick={next}
            rightSection={<IconChevronRight size={16} aria-hidden />}
          >
            {texts.next}
          </Button>
        </Group>
      )}
    </Group>
  );
}
