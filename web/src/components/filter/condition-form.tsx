import { Button, NativeSelect, Select, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useShellTexts } from '../../texts/use-shell-texts';
import { Form } from '../forms/form';
import {
  attributePrefix,
  type Condition,
  type FilterField,
  type FilterFields,
  type FilterNames,
  type Operator,
} from './conditions';
import { TimePresets } from './time-presets';
import { ValueInput } from './value-input';

interface ConditionFormProps {
  fields: FilterFields;
  names: FilterNames;
  /** the condition to change; absent = a new one */
  initial: Condition | undefined;
  /** whether a text must be equal instead of contained by default, as before a bulk change */
  isExact: boolean;
  onApply: (condition: Condition) => void;
}

/** Asks for a condition: a field, an operator of the field, and a value. */
export function ConditionForm({ fields, names, initial, isExact, onApply }: ConditionFormProps): ReactNode {
  const { filter: texts } = useShellTexts();
  const isAttribute = initial?.field.startsWith(attributePrefix) === true;
  const [name, setName] = useState<string | null>(isAttribute ? 'attributes' : (initial?.field ?? null));
  const [attribute, setAttribute] = useState(isAttribute ? (initial?.field.slice(attributePrefix.length) ?? '') : '');
  const [operator, setOperator] = useState<Operator>(initial?.operator ?? '');
  const [value, setValue] = useState(initial?.value ?? '');
  const form = useRef<HTMLFormElement>(null);
  // The form may be loaded after the popover has looked for the field to focus. The focus opens the
  // list of fields, which has its id after a frame (aria-controls).
  useEffect(() => {
    const frame = requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[data-autofocus]')?.focus());
    return () => cancelAnimationFrame(frame);
  }, []);
  const field = name === null ? undefined : fields[name];
  const choose = (next: string | null) => {
    setName(next);
    setOperator((next === null ? undefined : defaultOperator(next, fields[next]?.operators, isExact)) ?? '');
    setValue('');
  };
  const apply = () => {
    const sent = operator === '_in' ? listOf(value) : value.trim();
    if (name === null || sent === '') return;
    onApply({ field: field?.kind === 'attribute' ? `${attributePrefix}${attribute}` : name, operator, value: sent });
  };
  return (
    <Form ref={form} gap="sm" style={{ width: 260 }} onSubmit={apply}>
      <Select
        label={texts.field}
        data={Object.entries(fields).map(([key, { kind }]) => ({
          value: key,
          label: kind === 'attribute' ? texts.attribute : (names.fields[key] ?? key),
        }))}
        value={name}
        onChange={choose}
        searchable
        comboboxProps={{ withinPortal: false, keepMounted: true }}
        data-autofocus={initial === undefined || undefined}
      />
      {field?.kind === 'attribute' && (
        <TextInput
          label={texts.attributeName}
          value={attribute}
          onChange={(event) => setAttribute(event.currentTarget.value)}
          required
          pattern="[A-Za-z0-9_\-]{1,64}"
          autoComplete="off"
        />
      )}
      {field !== undefined && (
        <>
          {field.operators.length > 1 && (
            <NativeSelect
              label={texts.operator}
              value={operator}
              onChange={(event) => {
                const next = event.currentTarget.value as Operator;
                if (!isPlainText(field, operator) || !isPlainText(field, next)) setValue('');
                setOperator(next);
              }}
              data={field.operators.map((one) => ({
                value: one,
                label: texts.operators[one === '' ? 'equals' : one],
              }))}
            />
          )}
          {name !== null && field.operators.includes('_lt') && (
            <TimePresets onApply={(preset) => onApply({ field: name, ...preset })} />
          )}
          <ValueInput
            key={operator}
            field={field}
            operator={operator}
            choiceNames={names.choices?.[name ?? ''] ?? {}}
            suggestions={names.suggestions?.[name ?? ''] ?? []}
            value={value}
            onChange={setValue}
            isFocused={initial !== undefined}
          />
        </>
      )}
      <Button type="submit" disabled={name === null}>
        {texts.apply}
      </Button>
    </Form>
  );
}

/** Returns whether the value of a condition is one line of text. */
function isPlainText({ kind }: FilterField, operator: Operator): boolean {
  return (kind === 'text' || kind === 'id') && operator !== '_isnull' && operator !== '_in';
}

/**
 * Returns the initial operator: "after" for times; "contains" for text, unless it must be equal or
 * is a carrier; else "is".
 */
function defaultOperator(field: string, operators: readonly Operator[] = [], isExact = false): Operator | undefined {
  if (operators.includes('_gt')) return '_gt';
  return operators.includes('_like') && !isExact && field !== 'carrier_id' ? '_like' : operators[0];
}

/** Returns the values of a typed or pasted list, separated by commas. */
function listOf(text: string): string {
  return text
    .split(/[,;\t\n]/)
    .map((value) => value.trim())
    .filter((value) => value !== '')
    .join(',');
}
