import { Anchor, Badge, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
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
import { type Mail, mailsQuery } from './data';
import { RetryMail, stateColors } from './retry-mail';
import { useMailsTexts } from './use-mails-texts';

/** Lists unsent e-mails with the error of the mail server, and retries them. */
export function MailsPage(): ReactNode {
  const texts = useMailsTexts();
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
        actions={(mail) => <RetryMail mail={mail} recipient={mail.recipient} />}
        empty={{ title: texts.empty, hint: texts.emptyHint }}
      />
    </>
  );
}

function useColumns(): Column<Mail>[] {
  const texts = useMailsTexts();
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
      render: ({ state, attempts, failing }) => (
        <>
          <Badge variant="light" color={failing ? 'red' : stateColors[state]}>
            {texts.states[state]}
          </Badge>
          <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
            {texts.attempts(attempts)}
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
