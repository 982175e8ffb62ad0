import { Autocomplete, Checkbox, JsonInput, NativeSelect, Stack, TagsInput, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { TimeInput } from '../components/forms/time-input';
import { useRoleNames } from '../roles/use-roles';
import { useShellTexts } from '../texts/use-shell-texts';
import { isObject } from '../own';
import { useUsersTexts } from '../users/use-users-texts';
import { type Change, type ChangeField, changeFields } from './change';
import { useBulkTexts } from './use-bulk-texts';

interface ChangeInputProps {
  field: ChangeField;
  value: Change[ChangeField];
  onChange: (value: Change[ChangeField]) => void;
  error: string | undefined;
}

/** Asks for the new value of a field, with a control for the kind of the field. */
export function ChangeInput({ field, value, onChange, error }: ChangeInputProps): ReactNode {
  const texts = useBulkTexts();
  const { status } = useUsersTexts();
  const { yes, no } = useShellTexts().filter;
  const roles = useRoleNames();
  const common = { label: field === 'roles' ? texts.replaceRoles : texts.fields[field], error };
  const text = typeof value === 'string' ? value : '';
  const list = Array.isArray(value) ? value : [];
  switch (changeFields[field]) {
    case 'status':
      return (
        <NativeSelect
          {...common}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value)}
          data={[
            { value: '', label: '–', disabled: true },
            ...(['disabled', 'active', 'invited'] as const).map((one) => ({ value: one, label: status[one] })),
          ]}
        />
      );
    case 'boolean':
      return (
        <NativeSelect
          {...common}
          value={value === true ? 'true' : 'false'}
          onChange={(event) => onChange(event.currentTarget.value === 'true')}
          data={[
            { value: 'true', label: yes },
            { value: 'false', label: no },
          ]}
        />
      );
    case 'roles':
      return <TagsInput {...common} description={texts.listHint} data={roles} value={list} onChange={onChange} />;
    case 'list':
      return <TagsInput {...common} description={texts.listHint} value={list} onChange={onChange} />;
    case 'scope':
      return (
        <Stack gap="xs">
          <TagsInput
            {...common}
            description={texts.listHint}
            value={list}
            onChange={onChange}
            disabled={value === null}
          />
          <Checkbox
            label={texts.allCarriers}
            checked={value === null}
            onChange={(event) => onChange(event.currentTarget.checked ? null : [])}
          />
        </Stack>
      );
    case 'text':
      return (
        <Autocomplete
          {...common}
          description={texts.clears}
          data={suggestionsFor(field)}
          limit={20}
          value={text}
          onChange={(typed) => onChange(typed === '' ? null : typed)}
        />
      );
    case 'time':
      return (
        <TimeInput
          {...common}
          description={texts.asRoles}
          value={text}
          onChange={(time) => onChange(time === '' ? null : time)}
        />
      );
    case 'json':
      return <AttributesInput {...common} onChange={onChange} />;
    case 'reset':
    case 'secure':
    case 'invite':
      return (
        <div>
          <Text size="sm" fw={600}>
            {common.label}
          </Text>
          <Text size="sm" c="dimmed">
            {field === 'secure' ? texts.secure : field === 'invite' ? texts.invite : texts.resetFactors}
          </Text>
        </div>
      );
  }
}

function AttributesInput({
  label,
  error,
  onChange,
}: Pick<ChangeInputProps, 'onChange' | 'error'> & { label: string }): ReactNode {
  const texts = useBulkTexts();
  const [typed, setTyped] = useState('{ }');
  const isWrong = attributesOf(typed) === null;
  return (
    <JsonInput
      label={label}
      description={texts.attributesHint}
      error={isWrong ? texts.attributesWrong : error}
      autosize
      minRows={2}
      value={typed}
      onChange={(next) => {
        setTyped(next);
        const attributes = attributesOf(next);
        // The API rejects null, so invalid JSON cannot be previewed.
        onChange(attributes);
      }}
    />
  );
}

function attributesOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function suggestionsFor(field: ChangeField): string[] {
  if (field === 'timezone') return Intl.supportedValuesOf('timeZone');
  return field === 'locale' ? ['de', 'en'] : [];
}
