import { Group, Paper, Text, Title } from '@mantine/core';
import { IconChevronRight, IconCircleCheck } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schema } from '../api/client';
import { useLanguage, useTexts } from '../texts/language';
import { type Health, type HealthState, parts, problemsOf } from './health';
import { StateIcon } from './health-strip';
import classes from './overview.module.css';
import { overviewTexts as de } from './texts.de';
import { overviewTexts as en } from './texts.en';
import { useHealthTexts } from './use-health-texts';

type Attention = Schema<'AttentionResponse'>;

/** Pages of the console by the list of the API that they show. */
const pages: Record<string, string> = {
  '/user/list': '/users',
  '/auth/key/list': '/api-keys',
  '/mail/list': '/mails',
  '/stats/attacks': '/attacks',
  '/webhook/list': '/webhooks',
};

/** Kinds of items that affect users now. Listed first. */
const critical: ReadonlySet<string> = new Set(['webhooks_disabled', 'attack']);

/** Shows what needs attention, with remedies: parts of the service first, then items in lists. */
export function AttentionList({ items, health }: { items: Attention[]; health: Health | undefined }): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const { detailOf } = useHealthTexts();
  const open = items
    .filter(({ count }) => count > 0)
    .sort((one, other) => Number(critical.has(other.kind)) - Number(critical.has(one.kind)));
  const problems = problemsOf(
    health,
    open.map(({ kind }) => kind),
  );
  return (
    <Paper component="section" withBorder radius="md" aria-labelledby="attention" className={classes.attention}>
      {open.length + problems.length === 0 ? (
        <Group gap="xs" p="md" wrap="nowrap" c="dimmed">
          <IconCircleCheck size={18} aria-hidden className={classes.state} data-state="ok" />
          <Text id="attention">{texts.attention.nothing}</Text>
        </Group>
      ) : (
        <>
          <Title order={2} size="h5" id="attention" px="md" pt="sm" pb={4}>
            {texts.attention.title}
          </Title>
          <ul className={classes.attentionItems}>
            {health !== undefined &&
              problems.map(({ part, state }) => {
                const [title, remedy] = texts.health.problems[part][state === 'critical' ? 'critical' : 'warning'];
                return (
                  <Entry
                    key={part}
                    state={state}
                    title={title ?? ''}
                    remedy={`${detailOf(health, part)}. ${remedy}`}
                    to={parts.find((one) => one.part === part)?.to}
                  />
                );
              })}
            {open.map(({ kind, count, list, filter }) => (
              <Entry
                key={kind}
                state={critical.has(kind) ? 'critical' : 'warning'}
                title={texts.attention.kinds[kind](count.toLocaleString(language), count === 1)}
                remedy={texts.attention.remedies[kind]}
                to={pages[list] && `${pages[list]}?${new URLSearchParams(filter)}`}
              />
            ))}
          </ul>
        </>
      )}
    </Paper>
  );
}

interface EntryProps {
  state: HealthState;
  title: string;
  /** what to do next */
  remedy: string;
  /** path of the page that shows the items */
  to: string | undefined;
}

function Entry({ state, title, remedy, to }: EntryProps): ReactNode {
  const content = (
    <>
      <StateIcon state={state} />
      <span>
        <Text component="span" display="block" fw={500}>
          {title}
        </Text>
        <Text component="span" display="block" size="sm" c="dimmed">
          {remedy}
        </Text>
      </span>
    </>
  );
  return (
    <li>
      {to === undefined ? (
        <div className={classes.attentionItem}>{content}</div>
      ) : (
        <Link to={to} className={classes.attentionItem}>
          {content}
          <IconChevronRight size={16} aria-hidden className={classes.end} />
        </Link>
      )}
    </li>
  );
}
