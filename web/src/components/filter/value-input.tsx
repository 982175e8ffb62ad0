import { Autocomplete, MultiSelect, NativeSelect, TagsInput, Textarea, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { own } from '../../own';
import { useShellTexts } from '../../texts/use-shell-texts';
import { TimeInput } from '../forms/time-input';
import { type FilterField, type Operator, searchMinLength } from './conditions';

interface ValueInputProps {
  field: FilterField;
  operator: Operator;
  choiceNames: Record<string, string>;
  suggestions: readonly string[];
  /** value of the parameter; multiple values are separated by commas */
  value: string;
  onChange: (value: string) => void;
  /** whether the input has the focus when the form opens */
  isFocused: boolean;
}

/** A dropdown in a portal would close the popover that the input is in. */
const inPopover = { withinPortal: false };

/** Asks for the value of a condition, with a control for the kind of the field. */
export function ValueInput({ field, operator, choiceNames, suggestions, ...input }: ValueInputProps): ReactNode {
  const { filter: texts } = useShellTexts();
  const { value, onChange, isFocused } = input;
  const focus = isFocused ? { 'data-autofocus': true } : {};
  const common = { ...focus, label: texts.value, value, required: true };
  const choose = (data: { value: string; label: string }[]) => (
    <NativeSelect
      {...common}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[{ value: '', label: '–' }, ...data]}
    />
  );
  const yesOrNo = [
    { value: 'true', label: texts.yes },
    { value: 'false', label: texts.no },
  ];
  const choices = field.choices?.map((choice) => ({ value: choice, label: own(choiceNames, choice) ?? choice }));
  const data = field.kind === 'boolean' ? yesOrNo : choices;
  if (operator === '_isnull') return choose(yesOrNo);
  if (operator === '_in')
    return data === undefined && suggestions.length === 0 ? (
      <Textarea
        {...common}
        description={texts.listHint}
        onChange={(event) => onChange(event.currentTarget.value)}
        autosize
        minRows={2}
        maxRows={8}
      />
    ) : data === undefined ? (
      <TagsInput
        {...focus}
        label={texts.value}
        data={[...suggestions]}
        value={value === '' ? [] : value.split(',')}
        onChange={(values) => onChange(values.join(','))}
        comboboxProps={inPopover}
      />
    ) : (
      <MultiSelect
        {...focus}
        label={texts.value}
        data={data}
        value={value === '' ? [] : value.split(',')}
        onChange={(values) => onChange(values.join(','))}
        comboboxProps={inPopover}
      />
    );
  if (data !== undefined) return choose(data);
  if (field.kind === 'time' && operator !== '' && operator !== '_ne')
    return <TimeInput {...common} onChange={onChange} />;
  if (suggestions.length > 0)
    return <Autocomplete {...common} data={[...suggestions]} onChange={onChange} comboboxProps={inPopover} />;
  return (
    <TextInput
      {...common}
      description={field.kind === 'time' ? texts.exactTimeHint : undefined}
      onChange={(event) => onChange(event.currentTarget.value)}
      minLength={operator === '_like' ? searchMinLength : undefined}
      inputMode={field.kind === 'number' ? 'numeric' : undefined}
      autoComplete="off"
    />
  );
}
