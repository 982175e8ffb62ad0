import { Button, Group, Paper, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { api, dataOf } from '../../api/client';
import type { AuditEvent } from '../../audit/data';
import { useEventName, useFailureReason } from '../../audit/use-event-name';
import { PageSkeleton } from '../../components/page';
import { ProblemAlert } from '../../components/problem-alert';
import { TimeText } from '../../components/time-text';
import { own } from '../../own';
import { useMe } from '../../session/use-me';
import { useTexts } from '../../texts/language';
import { usersTexts as de } from '../texts.de';
import { usersTexts as en } from '../texts.en';
import { type UserActions, useUserActions } from '../use-user-actions';
import classes from '../users.module.css';
import type { User } from '../user';
import { loginEvents, type Obstacle, obstaclesOf, type Remedy, type TabRemedy, valueOf } from './login-obstacles';

/** Number of failed logins that the page shows. */
const failuresShown = 5;

/** Explains why a user cannot log in, with remedies for each reason. */
export function LoginCheck({ user }: { user: User }): ReactNode {
  const texts = useTexts({ en, de }).check;
  const { can } = useMe();
  const actions = useUserActions(user);
  const { user_id } = user;
  const events = useQuery({
    queryKey: ['audit', 'logins', user_id],
    queryFn: () =>
      dataOf(
        api.GET('/audit/list', { params: { query: { target_id: user_id, event_type_in: loginEvents, per_page: 50 } } }),
      ),
    enabled: can('audit:read'),
  });
  if (events.isLoading) return <PageSkeleton />;
  const items = events.data?.items ?? [];
  const obstacles = obstaclesOf(user, events.data?.items);
  const isBlocked = obstacles.some(({ isBlocking }) => isBlocking);
  const failures = items.filter(({ event_type }) => event_type.endsWith('failed')).slice(0, failuresShown);
  return (
    <Stack gap="lg" maw={800}>
      <ProblemAlert error={events.error} onRetry={() => void events.refetch()} />
      <Stack gap="sm">
        {!isBlocked && events.isSuccess && <NothingFound actions={actions} hasFailures={failures.length > 0} />}
        {!isBlocked && !can('audit:read') && <LimitedView actions={actions} />}
        {obstacles.map((obstacle) => (
          <ObstacleCard key={obstacle.kind} obstacle={obstacle} actions={actions} />
        ))}
      </Stack>
      {events.isSuccess && (
        <section>
          <Title order={2} size="h4" mb="xs">
            {texts.failures}
          </Title>
          {failures.length === 0 && <Text c="dimmed">{texts.noFailures}</Text>}
          <ul className={classes.list}>
            {failures.map((event) => (
              <FailureItem key={event.event_id} event={event} />
            ))}
          </ul>
        </section>
      )}
      {actions.dialog}
    </Stack>
  );
}

function NothingFound({ actions, hasFailures }: { actions: UserActions; hasFailures: boolean }): ReactNode {
  const texts = useTexts({ en, de });
  return (
    <Card color="green" icon={IconCircleCheck} title={texts.check.fine.title}>
      <Text size="sm">{hasFailures ? texts.check.fine.wrongPassword : texts.check.fine.text}</Text>
      <Remedies remedies={['resetMail']} actions={actions} />
    </Card>
  );
}

/** Says that the caller cannot see whether the user is locked for an address. */
function LimitedView({ actions }: { actions: UserActions }): ReactNode {
  const texts = useTexts({ en, de }).check.limited;
  return (
    <Card color="gray" icon={IconInfoCircle} title={texts.title}>
      <Text size="sm">{texts.text}</Text>
      <Remedies remedies={['unlock', 'resetMail']} actions={actions} />
    </Card>
  );
}

function ObstacleCard({ obstacle, actions }: { obstacle: Obstacle; actions: UserActions }): ReactNode {
  const texts = useTexts({ en, de }).check;
  const { kind, isBlocking, time, values = [], remedies } = obstacle;
  const { title, text } = texts.obstacles[kind];
  return (
    <Card color={isBlocking ? 'orange' : 'gray'} icon={isBlocking ? IconAlertTriangle : IconInfoCircle} title={title}>
      <Text size="sm">{text(values)}</Text>
      {time !== undefined && (
        <Text size="sm" c="dimmed" component="div">
          {texts.time[kind] ?? ''} <TimeText value={time} />
        </Text>
      )}
      <Remedies remedies={remedies} actions={actions} isUrgent={isBlocking} />
    </Card>
  );
}

function Card(props: { color: string; icon: typeof IconInfoCircle; title: string; children: ReactNode }): ReactNode {
  const { color, icon: Icon, title, children } = props;
  return (
    <Paper withBorder p="md" radius="md">
      <Group wrap="nowrap" align="flex-start" gap="md">
        <ThemeIcon variant="light" color={color} size="lg">
          <Icon size={20} aria-hidden />
        </ThemeIcon>
        <Stack gap={4} flex={1}>
          <Title order={2} size="h5">
            {title}
          </Title>
          {children}
        </Stack>
      </Group>
    </Paper>
  );
}

interface RemediesProps {
  remedies: Remedy[];
  actions: UserActions;
  /** whether to highlight the first remedy */
  isUrgent?: boolean;
}

/** Remedies on other tabs of the page of the user. */
const tabs: Record<TabRemedy, { tab: string; needs: string }> = {
  editData: { tab: 'data', needs: 'user:update' },
  editRoles: { tab: 'roles', needs: 'user:update' },
  showHistory: { tab: 'history', needs: 'audit:read' },
};
const isOnTab = (remedy: Remedy): remedy is TabRemedy => Object.hasOwn(tabs, remedy);

/** Shows the remedies that the caller may use, and highlights the first of them. */
function Remedies({ remedies, actions, isUrgent = false }: RemediesProps): ReactNode {
  const texts = useTexts({ en, de });
  const { can } = useMe();
  const usable = remedies.filter((one) => (isOnTab(one) ? can(tabs[one].needs) : actions.mayDo(one)));
  if (usable.length === 0) return null;
  return (
    <Group gap="xs" mt="xs">
      {usable.map((remedy, index) => {
        const look = { size: 'xs', variant: index > 0 ? 'default' : isUrgent ? 'filled' : 'light' } as const;
        return isOnTab(remedy) ? (
          <Button key={remedy} {...look} component={Link} to={`?tab=${tabs[remedy].tab}`}>
            {texts.check[remedy]}
          </Button>
        ) : (
          <Button key={remedy} {...look} onClick={() => actions.start(remedy)}>
            {texts.actions[remedy].label}
          </Button>
        );
      })}
    </Group>
  );
}

function FailureItem({ event }: { event: AuditEvent }): ReactNode {
  const texts = useTexts({ en, de });
  const nameOf = useEventName();
  const reasonOf = useFailureReason();
  const reason = valueOf(event, 'reason');
  const cause = reason === '' ? own(texts.check.cause, event.event_type) : reasonOf(reason);
  return (
    <li className={classes.item}>
      <Group justify="space-between" align="baseline" gap="xs">
        <Text size="sm">{cause ?? nameOf(event.event_type)}</Text>
        <Text size="sm" c="dimmed" component="div">
          {event.ip ?? '–'} · <TimeText value={event.occurred_at} />
        </Text>
      </Group>
    </li>
  );
}
