import { TextInput, type TextInputProps } from '@mantine/core';
import { type ReactNode, useState } from 'react';

interface TimeInputProps extends Omit<TextInputProps, 'value' | 'onChange' | 'type'> {
  /** time of the API; empty = none */
  value: string;
  onChange: (value: string) => void;
}

/** Asks for a time in the time zone of the viewer, to the minute. */
export function TimeInput({ value, onChange, ...rest }: TimeInputProps): ReactNode {
  const [typed, setTyped] = useState(toLocal(value));
  return (
    <TextInput
      {...rest}
      type="datetime-local"
      // Keep the text as typed: reformatting an incomplete year would change it.
      value={toApi(typed) === value ? typed : toLocal(value)}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        onChange(toApi(event.currentTarget.value));
      }}
    />
  );
}

/** Returns a time as the control writes it, such as `2026-11-20T13:00`. */
function toLocal(value: string): string {
  if (value === '') return '';
  const time = new Date(value);
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length);
}

function toApi(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}
