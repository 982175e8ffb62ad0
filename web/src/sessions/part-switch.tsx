import { SegmentedControl } from '@mantine/core';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { useSessionsTexts } from './use-sessions-texts';

/** Switches between the sessions of all users and the user's own sessions. */
export function PartSwitch({ part }: { part: 'all' | 'own' }): ReactNode {
  const texts = useSessionsTexts();
  const navigate = useNavigate();
  return (
    <SegmentedControl
      size="xs"
      aria-label={texts.part}
      value={part}
      onChange={(next) => void navigate(next === 'own' ? '/sessions/own' : '/sessions')}
      data={[
        { value: 'all', label: texts.allPart },
        { value: 'own', label: texts.ownPart },
      ]}
    />
  );
}
