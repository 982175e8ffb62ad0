import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { DateText } from '../components/time-text';
import type { Role } from './data';
import { useRolesTexts } from './use-roles-texts';

/** Shows whether a role requires a second factor, and from when. */
export function SecondFactorText({ role }: { role: Role }): ReactNode {
  const texts = useRolesTexts();
  const from = role.second_factor_required_from;
  if (from === null)
    return (
      <Text span inherit c="dimmed">
        {texts.notRequired}
      </Text>
    );
  return (
    <>
      {new Date(from) <= new Date() ? texts.since : texts.from} <DateText value={from} />
    </>
  );
}
