import { Badge, Group, Paper, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { Schema } from '../../api/client';
import { useFailureReason } from '../../audit/use-event-name';
import { AddressLink } from '../../components/address-link';
import { PageSkeleton } from '../../components/page';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { TimeText } from '../../components/time-text';
import { RetryMail, stateColors } from '../../mails/retry-mail';
import { useMailsTexts } from '../../mails/use-mails-texts';
import type { User } from '../data';
import type { UserAction } from '../actions/use-user-actions';
import { useUsersTexts } from '../use-users-texts';
import classes from '../users.module.css';
import { type Cause, failedMailOf, useLoginCheck, type UserMail } from './data';
import { CauseFacts, useCauseTexts } from './login-cause';
import { Remedies } from './login-remedies';

/** What else helps the user against a cause. */
const extras: Partial<Record<Cause['code'], UserAction[]>> = { locked: ['resetMail'], codes_locked: ['resetFactors'] };

/** Explains why a user cannot log in. Shows the last mails and the last rejected logins. */
export function LoginCheck({ user }: { user: User }): ReactNode {
  const texts = useUsersTexts().check;
  const check = useLoginCheck(user.user_id);
  if (check.isPending) return <PageSkeleton />;
  if (check.data === undefined) return <ProblemAlert error={check.error} onRetry={() => void check.refetch()} />;
  const { can_log_in, causes, mails, recent_refusals } = check.data;
  const failed = failedMailOf(check.data);
  return (
    <Stack gap="lg" maw={800}>
      <Stack gap="sm">
        {causes.length === 0 ? (
          <NothingFound user={user} hasFailures={recent_refusals !== undefined && recent_refusals.length > 0} />
        ) : (
          <Title order={2} size="h4">
            {can_log_in ? texts.restricted : texts.blocked}
          </Title>
        )}
        {causes.map((cause) => (
          <CauseCard key={cause.code} user={user} cause={cause} mailFailed={failed !== undefined} />
        ))}
      </Stack>
      {mails !== undefined && (
        <List title={texts.mails} empty={texts.noMails}>
          {mails.map((mail, index) => (
            <MailItem key={mail.mail_id ?? index} mail={mail} user={user} />
          ))}
        </List>
      )}
      {recent_refusals !== undefined && (
        <List title={texts.refusals} empty={texts.noRefusals}>
          {recent_refusals.map((refusal) => (
            <RefusalItem key={refusal.occurred_at} refusal={refusal} />
          ))}
        </List>
      )}
    </Stack>
  );
}

function NothingFound({ user, hasFailures }: { user: User; hasFailures: boolean }): ReactNode {
  const { fine } = useUsersTexts().check;
  return (
    <Card color="green" icon={IconCircleCheck} title={fine.title} order={2}>
      <Text size="sm">{hasFailures ? fine.wrongPassword : fine.text}</Text>
      <Remedies user={user} cause={{ remedies: [] }} extra={['resetMail', 'resetFactors']} />
    </Card>
  );
}

function CauseCard({ user, cause, mailFailed }: { user: User; cause: Cause; mailFailed: boolean }): ReactNode {
  const { title, text } = useCauseTexts()(cause);
  const look = cause.blocks ? { color: 'orange', icon: IconAlertTriangle } : { color: 'gray', icon: IconInfoCircle };
  return (
    <Card {...look} title={title}>
      <Text size="sm">{text}</Text>
      <CauseFacts cause={cause} />
      <Remedies user={user} cause={cause} extra={extras[cause.code] ?? []} mailFailed={mailFailed} />
    </Card>
  );
}

interface CardProps {
  color: string;
  icon: typeof IconInfoCircle;
  title: string;
  order?: 2 | 3;
  children: ReactNode;
}

function Card({ color, icon: Icon, title, order = 3, children }: CardProps): ReactNode {
  return (
    <Paper withBorder p="md" radius="md">
      <Group wrap="nowrap" align="flex-start" gap="md">
        <ThemeIcon variant="light" color={color} size="lg">
          <Icon size={20} aria-hidden />
        </ThemeIcon>
        <Stack gap={6} flex={1} miw={0}>
          <Title order={order} size="h5">
            {title}
          </Title>
          {children}
        </Stack>
      </Group>
    </Paper>
  );
}

function List({ title, empty, children }: { title: string; empty: string; children: ReactNode[] }): ReactNode {
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        {title}
      </Title>
      {children.length === 0 ? <Text c="dimmed">{empty}</Text> : <ul className={classes.list}>{children}</ul>}
    </section>
  );
}

function MailItem({ mail, user }: { mail: UserMail; user: User }): ReactNode {
  const texts = useMailsTexts();
  const { check } = useUsersTexts();
  const { kind, state, attempts, last_error, sent_at } = mail;
  return (
    <li className={classes.item}>
      <Group justify="space-between" align="baseline" gap="xs">
        <Text size="sm">{texts.kinds[kind]}</Text>
        <Group gap="xs">
          <Badge variant="light" color={last_error === undefined ? stateColors[state] : 'red'}>
            {texts.states[state]}
          </Badge>
          <Text size="sm" c="dimmed" component="div">
            {sent_at !== undefined && <TimeText value={sent_at} />}
            {attempts !== undefined && texts.attempts(attempts)}
          </Text>
          <RetryMail mail={mail} recipient={user.email} />
        </Group>
      </Group>
      {last_error !== undefined && (
        <Text size="sm" className={classes.breakable}>
          {check.answer(last_error)}
        </Text>
      )}
    </li>
  );
}

function RefusalItem({ refusal: { occurred_at, reason, ip } }: { refusal: Schema<'LoginRefusalResponse'> }): ReactNode {
  const reasonOf = useFailureReason();
  return (
    <li className={classes.item}>
      <Group justify="space-between" align="baseline" gap="xs">
        <Text size="sm">{reasonOf(reason)}</Text>
        <Text size="sm" c="dimmed" component="div">
          {ip !== null && (
            <>
              <AddressLink ip={ip} isInText />
              {' · '}
            </>
          )}
          <TimeText value={occurred_at} />
        </Text>
      </Group>
    </li>
  );
}
