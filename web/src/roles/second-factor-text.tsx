import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { DateText } from '../components/time-text';
import { useTexts } from '../texts/language';
import { rolesTexts as de } from './texts.de';
import { rolesTexts as en } from './texts.en';
import type { Role } from './data';

/** Shows whether a role requires a second factor, and from when. */
export function SecondFactorText({ role }: { role: Role }): ReactNode {
  const texts = useTexts({ en, de });
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
