import { Anchor, List, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schema } from '../api/client';
import { useLanguage, useTexts } from '../texts/language';
import { useUserNames } from '../users/use-user-names';
import { useReasonTexts } from './row-errors';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';

interface SkippedUsersProps {
  counts: Pick<Schema<'OperationResponse'>, 'skipped' | 'skipped_count' | 'skipped_reasons'>;
}

/** Shows which users a bulk change skips, and why. */
export function SkippedUsers({ counts }: SkippedUsersProps): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const { reasonOf } = useReasonTexts();
  const users = counts.skipped.flatMap(({ user_id, reason }) => (user_id === undefined ? [] : [{ user_id, reason }]));
  const names = useUserNames(users.map(({ user_id }) => user_id));
  return (
    <Stack gap="sm">
      {Object.entries(counts.skipped_reasons).map(([reason, count]) => {
        const ids = users.filter((user) => user.reason === reason).map(({ user_id }) => user_id);
        return (
          <div key={reason}>
            <Text size="sm">
              {reasonOf(reason)}{' '}
              <Text span inherit c="dimmed">
                {texts.users(count.toLocaleString(language))}
              </Text>
            </Text>
            <List size="sm" mt={4} listStyleType="none" spacing={2} style={{ overflowWrap: 'anywhere' }}>
              {ids.map((user_id) => (
                <List.Item key={user_id}>
                  <Anchor component={Link} to={`/users/${user_id}`} size="sm">
                    {names[user_id] ?? user_id}
                  </Anchor>
                </List.Item>
              ))}
              {count > ids.length && (
                <List.Item c="dimmed">{texts.more((count - ids.length).toLocaleString(language))}</List.Item>
              )}
            </List>
          </div>
        );
      })}
    </Stack>
  );
}
