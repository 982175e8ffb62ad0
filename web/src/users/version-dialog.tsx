import { Alert, Group, Radio, SimpleGrid, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Dialog } from '../components/dialog';
import { DialogButtons } from '../components/dialog-buttons';
import { ProblemAlert } from '../components/problem-alert';
import { TimeText } from '../components/time-text';
import { useTexts } from '../texts/language';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';
import type { UserEdit, VersionConflict } from './use-user-edit';
import { useValueText } from './use-value-text';
import { changedFields, type UserField, type UserValues, valuesOf } from './user-values';
import classes from './users.module.css';

/** Shows the version of the form and the version saved meanwhile, and asks which values to keep. */
export function VersionDialog({ edit }: { edit: UserEdit }): ReactNode {
  const texts = useTexts({ en, de }).conflict;
  return (
    <Dialog
      opened={edit.conflict !== null}
      onClose={edit.cancelResolve}
      title={texts.title}
      size="xl"
      isSending={edit.form.isSending}
    >
      {edit.conflict !== null && (
        <VersionForm key={edit.conflict.theirs.version} edit={edit} conflict={edit.conflict} />
      )}
    </Dialog>
  );
}

function VersionForm({ edit, conflict }: { edit: UserEdit; conflict: VersionConflict }): ReactNode {
  const texts = useTexts({ en, de });
  const { theirs, fields, mine, before } = conflict;
  const current = valuesOf(theirs);
  // Fields that only the other person changed stay as they are.
  const others = changedFields(before, current).filter((field) => !fields.includes(field));
  const disputed = fields.filter((field) => changedFields(current, mine).includes(field));
  const [chosen, setChosen] = useState<Partial<Record<UserField, 'mine' | 'theirs'>>>({});
  const kept = disputed.filter((field) => chosen[field] !== 'theirs');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation();
        void edit.resolve(kept);
      }}
    >
      <Stack gap="md">
        <Text size="sm">
          {texts.conflict.text} <TimeText value={theirs.updated_at} />.
        </Text>
        {disputed.map((field) => (
          <Radio.Group
            key={field}
            label={texts.fields[field]}
            value={chosen[field] ?? 'mine'}
            onChange={(choice) => setChosen({ ...chosen, [field]: choice === 'theirs' ? 'theirs' : 'mine' })}
          >
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" mt={4}>
              <Version value="mine" label={texts.conflict.mine} field={field} values={mine} />
              <Version value="theirs" label={texts.conflict.theirs} field={field} values={current} />
            </SimpleGrid>
          </Radio.Group>
        ))}
        {others.length > 0 && (
          <Alert color="gray" title={texts.conflict.others}>
            {others.map((field) => (
              <OtherChange key={field} field={field} before={before} after={current} />
            ))}
          </Alert>
        )}
        <ProblemAlert error={edit.form.problem} />
        <DialogButtons onCancel={edit.cancelResolve} isSending={edit.form.isSending}>
          {kept.length > 0 ? texts.conflict.save : texts.conflict.keepTheirs}
        </DialogButtons>
      </Stack>
    </form>
  );
}

function Version(props: { value: string; label: string; field: UserField; values: UserValues }): ReactNode {
  const textOf = useValueText();
  const { value, label, field, values } = props;
  return (
    <Radio.Card value={value} p="sm" radius="md" aria-label={`${label}: ${textOf(field, values[field])}`}>
      <Group gap="sm" wrap="nowrap" align="flex-start">
        <Radio.Indicator />
        <div>
          <Text size="xs" c="dimmed">
            {label}
          </Text>
          <Text size="sm" className={classes.breakable}>
            {textOf(field, values[field])}
          </Text>
        </div>
      </Group>
    </Radio.Card>
  );
}

function OtherChange(props: { field: UserField; before: UserValues; after: UserValues }): ReactNode {
  const textOf = useValueText();
  const { fields } = useTexts({ en, de });
  const { field, before, after } = props;
  return (
    <Text size="sm" className={classes.breakable}>
      {fields[field]}: <span className={classes.before}>{textOf(field, before[field])}</span> →{' '}
      {textOf(field, after[field])}
    </Text>
  );
}
