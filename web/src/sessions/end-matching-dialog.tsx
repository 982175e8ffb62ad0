import { Group, Pill, Skeleton, Stack, Text, VisuallyHidden } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ConfirmForm } from '../components/dialogs/confirm-dialog';
import { Dialog } from '../components/dialogs/dialog';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useMe } from '../session/use-me';
import { endableCountQuery, endSessions, type SessionFilter } from './data';
import { useSessionsTexts } from './use-sessions-texts';

interface EndMatchingDialogProps {
  opened: boolean;
  onClose: () => void;
  /** conditions of the list, except for the switch between live and ended sessions */
  filter: SessionFilter;
  /** texts of the conditions */
  conditions: string[];
}

/** Counts the live sessions that match a filter, and ends them after the user typed the number. */
export function EndMatchingDialog({ opened, onClose, ...rest }: EndMatchingDialogProps): ReactNode {
  const texts = useSessionsTexts();
  return (
    <Dialog opened={opened} onClose={onClose} title={texts.endMatchingTitle}>
      <EndMatchingForm {...rest} onClose={onClose} />
    </Dialog>
  );
}

function EndMatchingForm({ filter, conditions, onClose }: Omit<EndMatchingDialogProps, 'opened'>): ReactNode {
  const texts = useSessionsTexts();
  const { user } = useMe();
  const { data: count, error } = useQuery(endableCountQuery(filter, user.user_id));
  if (error !== null) return <ProblemAlert error={error} />;
  if (count === undefined)
    return (
      <>
        <VisuallyHidden role="status">{texts.counting}</VisuallyHidden>
        <Skeleton height={120} />
      </>
    );
  if (count === 0) return <Text>{texts.noneMatches}</Text>;
  const end = async () => {
    notifications.show({ message: texts.endedMany(await endSessions({ ...filter, active: true })) });
  };
  return (
    <ConfirmForm
      confirmLabel={texts.endMatchingConfirm(count)}
      isDestructive
      typedConfirmation={String(count)}
      onConfirm={end}
      onClose={onClose}
    >
      <Stack gap="xs">
        {conditions.length === 0 ? (
          <Text fw={500}>{texts.endMatchingUnfiltered}</Text>
        ) : (
          <>
            <Text fw={500}>{texts.endMatchingText(count)}</Text>
            <Group gap={6} component="ul" p={0} m={0} aria-label={texts.endMatchingFilter}>
              {conditions.map((condition) => (
                <Pill key={condition} component="li" size="md" title={condition}>
                  {condition}
                </Pill>
              ))}
            </Group>
          </>
        )}
        <Text c="dimmed">{texts.ownStays}</Text>
      </Stack>
    </ConfirmForm>
  );
}
