import { Anchor, Badge, Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { AddressLink } from '../../components/address-link';
import { TimeText } from '../../components/time-text';
import { rolePath } from '../../roles/role-links';
import { useMe } from '../../session/use-me';
import { sessionsQuery } from '../../sessions/data';
import { useDeviceName } from '../../sessions/session-columns';
import { useLanguage } from '../../texts/language';
import type { User } from '../data';
import { useUsersTexts } from '../use-users-texts';
import { AccountFacts, PersonFacts } from './user-facts';
import classes from './user-overview.module.css';

/** Number of roles that the summary shows by name. */
const rolesShown = 4;

/** Opens the page of a user: what an operator needs to know first, then all fields. */
export function UserOverview({ user }: { user: User }): ReactNode {
  return (
    <Stack gap="md">
      <Paper withBorder component="dl" className={classes.summary}>
        <LastLogin user={user} />
        <LiveSessions user={user} />
        <Factors user={user} />
        <Roles user={user} />
      </Paper>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md" className={classes.cards}>
        <PersonFacts user={user} />
        <AccountFacts user={user} />
      </SimpleGrid>
    </Stack>
  );
}

interface CellProps {
  label: string;
  /** tab with more about it */
  tab?: string;
  /** second line */
  hint?: ReactNode;
  children: ReactNode;
}

function Cell({ label, tab, hint, children }: CellProps): ReactNode {
  return (
    <div>
      <Text component="dt" size="sm" c="dimmed">
        {tab === undefined ? (
          label
        ) : (
          <Anchor component={Link} to={`?tab=${tab}`} replace inherit c="dimmed">
            {label}
          </Anchor>
        )}
      </Text>
      <Text component="dd" fw={600} size="lg">
        {children}
      </Text>
      {hint !== undefined && (
        <Text component="dd" size="sm" c="dimmed">
          {hint}
        </Text>
      )}
    </div>
  );
}

function LastLogin({ user: { user_id, last_login_at, last_login_ip } }: { user: User }): ReactNode {
  const { fields } = useUsersTexts();
  const deviceOf = useDeviceName();
  const { can } = useMe();
  const newest = { user_id, order_by: 'created_at', order_dir: 'desc', per_page: 1, count: 'none' } as const;
  const { data } = useQuery({ ...sessionsQuery(newest), enabled: can('session:read') });
  const session = data?.items.find(({ ip }) => ip === last_login_ip);
  return (
    <Cell
      label={fields.last_login_at}
      hint={
        last_login_ip !== null && (
          <>
            {session !== undefined && `${deviceOf(session)} · `}
            <AddressLink ip={last_login_ip} isInText />
          </>
        )
      }
    >
      <TimeText value={last_login_at} />
    </Cell>
  );
}

function LiveSessions({ user: { user_id } }: { user: User }): ReactNode {
  const { overview: texts } = useUsersTexts();
  const language = useLanguage();
  const { can } = useMe();
  const live = {
    user_id,
    active: true,
    order_by: 'last_seen_at',
    order_dir: 'desc',
    per_page: 1,
    count: 'exact',
  } as const;
  const { data } = useQuery({ ...sessionsQuery(live), enabled: can('session:read') });
  const newest = data?.items[0];
  if (data === undefined) return null;
  return (
    <Cell
      label={texts.sessions}
      tab="sessions"
      hint={
        newest === undefined ? (
          texts.noSessions
        ) : (
          <>
            {texts.lastUsed} <TimeText value={newest.last_seen_at} />
          </>
        )
      }
    >
      {(data.total?.value ?? 0).toLocaleString(language)}
    </Cell>
  );
}

function Factors({ user: { second_factors, must_enroll_second_factor, ...user } }: { user: User }): ReactNode {
  const { overview: texts, factors, fields } = useUsersTexts();
  const from = user.second_factor_required_from;
  return (
    <Cell
      label={texts.factors}
      tab="factors"
      hint={
        must_enroll_second_factor
          ? texts.mustEnroll
          : from !== null && (
              <>
                {fields.second_factor_required_from} <TimeText value={from} />
              </>
            )
      }
    >
      {second_factors.map((kind) => factors.kind[kind]).join(', ') || texts.noFactors}
    </Cell>
  );
}

function Roles({ user: { roles } }: { user: User }): ReactNode {
  const { overview: texts, fields, noRoles } = useUsersTexts();
  const { can } = useMe();
  const others = roles.slice(rolesShown);
  return (
    <Cell label={fields.roles} tab="roles" {...(roles.length === 0 ? { hint: texts.noRights } : {})}>
      {roles.length === 0 && noRoles}
      <Group component="span" gap={4} mt={4}>
        {roles.slice(0, rolesShown).map((role) => (
          <Badge
            key={role}
            variant="default"
            title={role}
            className={classes.role}
            {...(can('role:read') ? { renderRoot: (props: object) => <Link to={rolePath(role)} {...props} /> } : {})}
          >
            {role}
          </Badge>
        ))}
        {others.length > 0 && (
          <Text span size="sm" c="dimmed" title={others.join(', ')}>
            {texts.more(others.length)}
          </Text>
        )}
      </Group>
    </Cell>
  );
}
