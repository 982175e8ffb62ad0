import { Alert, Group, Radio, SimpleGrid, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Dialog, DialogButtons } from './dialog';
import { ProblemAlert } from './problem-alert';
import type { ProblemForm } from './use-problem-form';
import classes from './version-dialog.module.css';

/** Two versions of a record, one saved elsewhere while the form was open. */
export interface VersionConflict<Values> {
  /** version that was saved elsewhere */
  version: number;
  /** values that the form started with */
  before: Values;
  /** values of the form */
  mine: Values;
  /** values as saved elsewhere */
  theirs: Values;
  /** fields that the form changes */
  fields: readonly (keyof Values & string)[];
}

/** Texts of a version dialog. */
export interface VersionTexts {
  title: string;
  mine: string;
  theirs: string;
  others: string;
  save: string;
  keepTheirs: string;
}

interface VersionDialogProps<Values> {
  conflict: VersionConflict<Values> | null;
  texts: VersionTexts;
  /** says what happened, and that nothing is saved yet */
  text: ReactNode;
  nameOf: (field: keyof Values & string) => string;
  textOf: (field: keyof Values & string, value: unknown) => string;
  form: ProblemForm;
  /** Saves the selected fields over the other version. Without fields, keeps the other version. */
  onResolve: (fields: (keyof Values & string)[]) => void;
  onCancel: () => void;
}

/** Shows the version of the form and the version saved meanwhile, and asks which values to keep. */
export function VersionDialog<Values extends object>(props: VersionDialogProps<Values>): ReactNode {
  const { conflict, texts, form, onCancel } = props;
  return (
    <Dialog opened={conflict !== null} onClose={onCancel} title={texts.title} size="xl" isSending={form.isSending}>
      {conflict !== null && <VersionForm key={conflict.version} {...props} conflict={conflict} />}
    </Dialog>
  );
}

function VersionForm<Values extends object>(
  props: VersionDialogProps<Values> & { conflict: VersionConflict<Values> },
): ReactNode {
  const { conflict, texts, text, nameOf, textOf, form, onResolve, onCancel } = props;
  const { before, mine, theirs, fields } = conflict;
  const [chosen, setChosen] = useState<Partial<Record<string, 'mine' | 'theirs'>>>({});
  const differ = (one: Values, other: Values) => (field: keyof Values & string) =>
    JSON.stringify(one[field]) !== JSON.stringify(other[field]);
  // Fields that only the other person changed stay as they are.
  const all = Object.keys(before) as (keyof Values & string)[];
  const others = all.filter((field) => differ(before, theirs)(field) && !fields.includes(field));
  const disputed = fields.filter(differ(theirs, mine));
  const kept = disputed.filter((field) => chosen[field] !== 'theirs');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation();
        onResolve(kept);
      }}
    >
      <Stack gap="md">
        <Text size="sm">{text}</Text>
        {disputed.map((field) => (
          <Radio.Group
            key={field}
            label={nameOf(field)}
            value={chosen[field] ?? 'mine'}
            onChange={(choice) => setChosen({ ...chosen, [field]: choice === 'theirs' ? 'theirs' : 'mine' })}
          >
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" mt={4}>
              <Version value="mine" label={texts.mine} text={textOf(field, mine[field])} />
              <Version value="theirs" label={texts.theirs} text={textOf(field, theirs[field])} />
            </SimpleGrid>
          </Radio.Group>
        ))}
        {others.length > 0 && (
          <Alert color="gray" title={texts.others}>
            {others.map((field) => (
              <Text key={field} size="sm" className={classes.value}>
                {nameOf(field)}: <span className={classes.before}>{textOf(field, before[field])}</span> →{' '}
                {textOf(field, theirs[field])}
              </Text>
            ))}
          </Alert>
        )}
        <ProblemAlert error={form.problem} />
        <DialogButtons onCancel={onCancel} isSending={form.isSending}>
          {kept.length > 0 ? texts.save : texts.keepTheirs}
        </DialogButtons>
      </Stack>
    </form>
  );
}

function Version({ value, label, text }: { value: string; label: string; text: string }): ReactNode {
  return (
    <Radio.Card value={value} p="sm" radius="md" aria-label={`${label}: ${text}`}>
      <Group gap="sm" wrap="nowrap" align="flex-start">
        <Radio.Indicator />
        <div>
          <Text size="xs" c="dimmed">
            {label}
          </Text>
          <Text size="sm" className={classes.value}>
            {text}
          </Text>
        </div>
      </Group>
    </Radio.Card>
  );
}
