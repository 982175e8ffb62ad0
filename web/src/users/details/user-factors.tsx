import { Box, Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FactorIcon } from '../../account/factors/factor-icon';
import { EmptyState, PageSkeleton } from '../../components/page';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { TimeText } from '../../components/time-text';
import { type User, userFactorsQuery } from '../data';
import { useUserActions } from '../actions/use-user-actions';
import { useUsersTexts } from '../use-users-texts';
import classes from '../users.module.css';

/** Shows the second factors of a user, and resets them. */
export function UserFactors({ user }: { user: User }): ReactNode {
  const texts = useUsersTexts().factors;
  const { mayDo, start, dialog } = useUserActions(user);
  const factors = useQuery(userFactorsQuery(user.user_id));
  if (factors.isPending) return <PageSkeleton />;
  if (factors.data === undefined) return <ProblemAlert error={factors.error} onRetry={() => void factors.refetch()} />;
  const { items, recovery_codes_left } = factors.data;
  if (items.length === 0)
    return (
      <EmptyState title={texts.empty} hint={user.must_enroll_second_factor ? texts.mustEnroll : texts.emptyHint} />
    );
  return (
    <Box maw={800}>
      <Group justify="space-between" mb="sm">
        <Text size="sm" c="dimmed">
          {texts.recoveryCodes(recovery_codes_left)}
        </Text>
        {mayDo('resetFactors') && (
          <Button color="red" variant="light" size="xs" onClick={() => start('resetFactors')}>
            {texts.reset}
          </Button>
        )}
      </Group>
      <ul className={classes.list}>
        {items.map(({ factor_id, kind, name, provider, created_at, last_used_at, confirmed }) => (
          <li key={factor_id} className={classes.item}>
            <Group wrap="nowrap" align="flex-start">
              <FactorIcon kind={kind} />
              <div>
                <Text fw={500}>
                  {name} {!confirmed && `(${texts.unconfirmed})`}
                </Text>
                <Text size="sm" c="dimmed" component="div">
                  {texts.kind[kind]}
                  {provider !== undefined && ` · ${provider}`} · {texts.added} <TimeText value={created_at} /> ·{' '}
                  {texts.used} <TimeText value={last_used_at} />
                </Text>
              </div>
            </Group>
          </li>
        ))}
      </ul>
      {dialog}
    </Box>
  );
}
