import { Alert, Group, Radio, SimpleGrid, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useShellTexts } from '../../texts/use-shell-texts';
import { Dialog, DialogButtons } from '../dialogs/dialog';
import { Form } from '../forms/form';
import { ProblemAlert } from '../forms/problem-alert';
import { TimeText } from '../time-text';
import { changedFields, type FieldOf } from './draft';
import type { Conflict, Draft } from './use-draft';
import classes from './version-dialog.module.css';
import { WaitingNotice } from './waiting-notice';

/** How a form names its fields and their values. */
export interface FieldTexts<Values> {
  names: Partial<Record<FieldOf<Values>, string>>;
  textOf: (field: FieldOf<Values>, value: unknown) => string;
}

interface VersionDialogProps<Values> extends FieldTexts<Values> {
  draft: Draft<Values>;
}

/** Shows the version of the form and the version saved meanwhile, and asks which values to keep. */
export function VersionDialog<Values extends object>(props: VersionDialogProps<Values>): ReactNode {
  const { conflict, form, cancelResolve } = props.draft;
  const { title } = useShellTexts().draft;
  return (
    <Dialog opened={conflict !== null} onClose={cancelResolve} title={title} size="xl" isSending={form.isSending}>
      {conflict !== null && <VersionForm key={JSON.stringify(conflict.theirs)} {...props} conflict={conflict} />}
    </Dialog>
  );
}

function VersionForm<Values extends object>(
  props: VersionDialogProps<Values> & { conflict: Conflict<Values> },
): ReactNode {
  const { draft, conflict, names, textOf } = props;
  const { before, mine, theirs, savedAt, disputed } = conflict;
  const texts = useShellTexts().draft;
  const [kept, setKept] = useState<FieldOf<Values>[]>([]);
  // Fields that only the other person changed stay as they are.
  const others = changedFields(before, theirs).filter((field) => !draft.changed.includes(field));
  const savesNothing = draft.changed.every((field) => kept.includes(field));
  return (
    <Form onSubmit={() => draft.resolve(kept)}>
      <Text size="sm" component="div">
        {texts.text}
        {savedAt !== undefined && (
          <>
            {' '}
            {texts.savedAt} <TimeText value={savedAt} />.
          </>
        )}
      </Text>
      {disputed.map((field) => (
        <Radio.Group
          key={field}
          label={names[field]}
          value={kept.includes(field) ? 'theirs' : 'mine'}
          onChange={(choice) =>
            setKept([...kept.filter((other) => other !== field), ...(choice === 'theirs' ? [field] : [])])
          }
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
              {names[field]}: <span className={classes.before}>{textOf(field, before[field])}</span> →{' '}
              {textOf(field, theirs[field])}
            </Text>
          ))}
        </Alert>
      )}
      <ProblemAlert error={draft.form.problem} />
      <WaitingNotice draft={draft} />
      <DialogButtons onCancel={draft.cancelResolve} isSending={draft.form.isSending}>
        {savesNothing ? texts.keepTheirs : texts.saveChoice}
      </DialogButtons>
    </Form>
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
