import { Checkbox, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { TimeInput } from '../components/forms/time-input';
import { useRolesTexts } from './use-roles-texts';

interface SecondFactorFieldsProps {
  /** time from which the second factor is required; null = not required */
  value: string | null;
  onChange: (value: string | null) => void;
  error: string | undefined;
}

const hourMs = 3_600_000;
/** Default time that users have to set up a factor. */
const weekMs = 7 * 24 * hourMs;

/** Asks whether a role requires a second factor, and from when. */
export function SecondFactorFields({ value, onChange, error }: SecondFactorFieldsProps): ReactNode {
  const texts = useRolesTexts();
  const inAWeek = () => new Date(Math.floor((Date.now() + weekMs) / hourMs) * hourMs).toISOString();
  return (
    <Stack gap="sm">
      <Checkbox
        checked={value !== null}
        onChange={(event) => onChange(event.currentTarget.checked ? inAWeek() : null)}
        label={texts.factorRequired}
        description={texts.factorHint}
      />
      {value !== null && (
        <TimeInput label={texts.factorFrom} value={value} onChange={onChange} required error={error} maw={260} />
      )}
    </Stack>
  );
}
