import { Group, Paper, Text, Title } from '@mantine/core';
import { IconAlertTriangle, IconChevronRight, IconCircleCheck } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schema } from '../api/client';
import { useLanguage, useTexts } from '../texts/language';
import classes from './overview.module.css';
import { overviewTexts as de } from './texts.de';
import { overviewTexts as en } from './texts.en';

type Attention = Schema<'AttentionResponse'>;

/** Pages of the console by the list of the API that they show. */
const pages: Record<string, string> = {
  '/user/list': '/users',
  '/auth/key/list': '/api-keys',
  '/mail/list': '/mails',
  '/stats/attacks': '/attacks',
};

/** Shows what needs attention. Each entry links to its list. */
export function AttentionList({ items }: { items: Attention[] }): ReactNode {
  const texts = useTexts({ en, de }).attention;
  const open = items.filter(({ count }) => count > 0);
  return (
    <Paper component="section" withBorder radius="md" aria-labelledby="attention" className={classes.attention}>
      {open.length === 0 ? (
        <Group gap="xs" p="md" wrap="nowrap" c="dimmed">
          <IconCircleCheck size={18} aria-hidden className={classes.fine} />
          <Text id="attention">{texts.nothing}</Text>
        </Group>
      ) : (
        <>
          <Title order={2} size="h5" id="attention" px="md" pt="sm" pb={4}>
            {texts.title}
          </Title>
          <ul className={classes.attentionItems}>
            {open.map((item) => (
              <li key={item.kind}>
                <AttentionItem item={item} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Paper>
  );
}

function AttentionItem({ item: { kind, count, list, filter } }: { item: Attention }): ReactNode {
  const texts = useTexts({ en, de }).attention;
  const language = useLanguage();
  const page = pages[list];
  const content = (
    <>
      <IconAlertTriangle size={18} aria-hidden className={classes.warning} />
      <span>{texts.kinds[kind](count.toLocaleString(language), count === 1)}</span>
    </>
  );
  if (page === undefined) return <div className={classes.attentionItem}>{content}</div>;
  return (
    <Link to={`${page}?${new URLSearchParams(filter)}`} className={classes.attentionItem}>
      {content}
      <IconChevronRight size={16} aria-hidden className={classes.end} />
    </Link>
  );
}
