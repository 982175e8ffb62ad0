import { Anchor, Badge, Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { QueryOf } from '../api/client';
import { listMailsFilters } from '../api/filters';
import { FilterBuilder } from '../components/filter/filter-builder';
import { DataTable } from '../components/lists/data-table';
import type { Column } from '../components/lists/stacked-rows';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { TimeText } from '../components/time-text';
import { useLanguage, useTexts } from '../texts/language';
import { useErrorTexts } from '../texts/use-error-texts';
import { type Mail, mailsQuery, retryMail } from './data';
import { mailsTexts as de } from './texts.de';
import { mailsTexts as en } from './texts.en';

const stateColors = { waiting: 'gray', retrying: 'orange', sending: 'blue', failed: 'red' };

/** Lists unsent e-mails with the error of the mail server, and retries them. */
export function MailsPage(): ReactNode {
  const texts = useTexts({ en, de });
  const params = useListParams<QueryOf<'listMails'>>(listMailsFilters);
  const list = useQuery(mailsQuery(params.query));
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <Group gap="xs" mb="sm">
        <FilterBuilder
          fields={listMailsFilters}
          names={{ fields: texts.fields, choices: { kind: texts.kinds, state: texts.states } }}
          params={params}
        />
      </Group>
      <DataTable
        label={texts.title}
        columns={useColumns()}
        idOf={({ mail_id }) => mail_id}
        list={list}
        params={params}
        defaultSort={{ order_by: 'created_at', order_dir: 'desc' }}
        actions={(mail) => <RetryButton mail={mail} />}
        empty={{ title: texts.empty, hint: texts.emptyHint }}
      />
    </>
  );
}

function useColumns(): Column<Mail>[] {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const { fields } = texts;
  return [
    {
      key: 'recipient',
      title: fields.recipient,
      render: ({ user_id, name, recipient }) => (
        <>
          <Anchor component={Link} to={`/users/${user_id}`} inherit fw={500}>
            {name}
          </Anchor>
          <Text size="xs" c="dimmed" fw={400}>
            {recipient}
          </Text>
        </>
      ),
    },
    { key: 'kind', title: fields.kind, render: ({ kind }) => texts.kinds[kind] },
    {
      key: 'state',
      title: fields.state,
      render: ({ state, attempts }) => (
        <>
          <Badge variant="light" color={stateColors[state]}>
            {texts.states[state]}
          </Badge>
          <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
            {texts.attempts(attempts.toLocaleString(language), attempts === 1)}
          </Text>
        </>
      ),
    },
    { key: 'last_error', title: fields.last_error, render: ({ last_error }) => last_error ?? texts.noError },
    {
      key: 'created_at',
      title: fields.created_at,
      sortable: true,
      render: ({ created_at }) => <TimeText value={created_at} />,
    },
    {
      key: 'next_attempt_at',
      title: fields.next_attempt_at,
      render: ({ next_attempt_at }) => <TimeText value={next_attempt_at} absent={texts.noAttempt} />,
    },
  ];
}

function RetryButton({ mail: { mail_id, kind, recipient, state } }: { mail: Mail }): ReactNode {
  const texts = useTexts({ en, de });
  const { textOf } = useErrorTexts();
  const retry = useMutation({
    mutationFn: () => retryMail(mail_id),
    onSuccess: () => notifications.show({ message: texts.retried }),
    onError: (error) => notifications.show({ color: 'red', message: textOf(error) }),
  });
  if (state === 'sending') return null;
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={retry.isPending}
      onClick={() => retry.mutate()}
      aria-label={texts.retryOf(texts.kinds[kind], recipient)}
    >
      {texts.retry}
    </Button>
  );
}
