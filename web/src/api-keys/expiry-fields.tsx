import { Group, NativeSelect } from '@mantine/core';
import type { ReactNode } from 'react';
import { TimeInput } from '../components/forms/time-input';
import { apiKeysTexts as en } from './texts.en';
import { useApiKeysTexts } from './use-api-keys-texts';

/** When a key expires: after a number of days, or at a time. */
export interface Expiry {
  choice: keyof typeof en.expiryChoices;
  /** time of the choice `other`; empty = none yet */
  time: string;
}

const dayMs = 24 * 3_600_000;
/** Half a day less than a year: the maximum must hold if the clock of this computer is ahead. */
const yearDays = 364.5;
const days = { days30: 30, days90: 90, days180: 180, year: yearDays };

/** Returns the time at which a key expires. */
export function expiryTime({ choice, time }: Expiry): string {
  return choice === 'other' ? time : new Date(Date.now() + days[choice] * dayMs).toISOString();
}

interface ExpiryFieldsProps {
  value: Expiry;
  onChange: (value: Expiry) => void;
  error: string | undefined;
}

/** Asks when a key expires. */
export function ExpiryFields({ value, onChange, error }: ExpiryFieldsProps): ReactNode {
  const texts = useApiKeysTexts();
  const isOther = value.choice === 'other';
  return (
    <Group gap="sm" align="flex-start">
      <NativeSelect
        label={texts.expiry}
        description={texts.expiryHint}
        value={value.choice}
        onChange={(event) => onChange({ ...value, choice: event.currentTarget.value as Expiry['choice'] })}
        data={Object.entries(texts.expiryChoices).map(([choice, label]) => ({ value: choice, label }))}
        error={isOther ? undefined : error}
        w={260}
      />
      {isOther && (
        <TimeInput
          label={texts.expiryTime}
          description={'\u00a0'}
          value={value.time}
          onChange={(time) => onChange({ ...value, time })}
          error={error}
          required
          w={260}
        />
      )}
    </Group>
  );
}
