import { ActionIcon, Button, Group, Menu, Stack, Tooltip } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { ProblemForm } from '../components/forms/use-problem-form';
import { useMe } from '../session/use-me';
import { type Change, type ChangeField, changeFields, excludedFields, initialValue } from './change';
import classes from './change-editor.module.css';
import { ChangeInput } from './change-input';
import { useBulkTexts } from './use-bulk-texts';

interface ChangeEditorProps {
  change: Change;
  onChange: (change: Change) => void;
  form: ProblemForm;
}

/** Asks for the fields that change, and for their new values. */
export function ChangeEditor({ change, onChange, form }: ChangeEditorProps): ReactNode {
  const texts = useBulkTexts();
  const { can } = useMe();
  const chosen = Object.keys(change) as ChangeField[];
  const free = (Object.keys(changeFields) as ChangeField[]).filter(
    (field) =>
      !chosen.includes(field) &&
      !excludedFields(change).includes(field) &&
      (field !== 'reset_second_factors' || can('user:reset_factors')),
  );
  const set = (field: ChangeField, value: Change[ChangeField]) => onChange({ ...change, [field]: value });
  const remove = (field: ChangeField) =>
    onChange(Object.fromEntries(Object.entries(change).filter(([name]) => name !== field)));
  return (
    <Stack gap="md">
      {chosen.map((field) => (
        <Group key={field} wrap="nowrap" align="flex-start" gap="xs">
          <div className={classes.input}>
            <ChangeInput
              field={field}
              value={change[field]}
              onChange={(value) => set(field, value)}
              error={form.errorOf(field)}
            />
          </div>
          <Tooltip label={texts.removeChange(texts.fields[field])}>
            <ActionIcon
              variant="subtle"
              color="gray"
              onClick={() => remove(field)}
              aria-label={texts.removeChange(texts.fields[field])}
            >
              <IconX size={16} aria-hidden />
            </ActionIcon>
          </Tooltip>
        </Group>
      ))}
      {free.length > 0 && (
        <Menu position="bottom-start" portalProps={{ target: '#content' }}>
          <Menu.Target>
            <Button variant="default" size="xs" w="fit-content" leftSection={<IconPlus size={16} aria-hidden />}>
              {texts.addChange}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {free.map((field) => (
              <Menu.Item key={field} onClick={() => set(field, initialValue(field))}>
                {field === 'roles' ? texts.replaceRoles : texts.fields[field]}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </Stack>
  );
}
