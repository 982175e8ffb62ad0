import { Button, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { isProblem } from '../api/problems';
import { FormActions } from '../components/form-actions';
import { ProblemAlert } from '../components/problem-alert';
import { Section } from '../components/section';
import { useUnsavedChanges } from '../components/unsaved-changes';
import { useProblemForm } from '../components/use-problem-form';
import { useTexts } from '../texts/language';
import { changesOf, draftOf, type RoleChanges, type RoleDraft } from './role-draft';
import { RoleFacts } from './role-facts';
import { RoleFields } from './role-fields';
import { SecondFactorFields } from './second-factor-fields';
import { rolesTexts as de } from './texts.de';
import { rolesTexts as en } from './texts.en';
import type { Role } from './use-roles';

interface RoleFormProps {
  /** the role to change; absent for a new role */
  role?: Role;
  /** all roles */
  roles: Role[];
  submitLabel: string;
  /**
   * Saves a new role from `draft`, or the `changes` of an existing role. Returns the saved role.
   */
  onSave: (draft: RoleDraft, changes: RoleChanges) => Promise<Role>;
}

const fields = ['name', 'description', 'user_types', 'permissions', 'may_grant', 'second_factor_required_from'];

/** Creates or changes a role. Of a built-in role, only the second factor can be changed. */
export function RoleForm({ role, roles, submitLabel, onSave }: RoleFormProps): ReactNode {
  const texts = useTexts({ en, de });
  const form = useProblemForm(fields);
  // The role when the form opened: changes by other users must not look like changes in the form.
  const [saved, setSaved] = useState(() => draftOf(role));
  const [draft, setDraft] = useState(saved);
  const [isTypeMissing, setIsTypeMissing] = useState(false);
  const changes = changesOf(saved, draft);
  useUnsavedChanges(Object.keys(changes).length > 0 && !form.isSending);
  const set = (next: Partial<RoleDraft>) => {
    setDraft({ ...draft, ...next });
    setIsTypeMissing(false);
  };
  const save = async () => {
    if (draft.user_types.length === 0) setIsTypeMissing(true);
    else
      await form.submit(async () => {
        const after = draftOf(await onSave(draft, changes));
        setSaved(after);
        setDraft(after);
      });
  };
  const shown = isTypeMissing
    ? { ...form, errorOf: (field: string) => (field === 'user_types' ? texts.typesRequired : form.errorOf(field)) }
    : form;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Stack gap="md">
        {role?.built_in === true ? (
          <RoleFacts role={role} />
        ) : (
          <RoleFields draft={draft} set={set} isNew={role === undefined} roles={roles} form={shown} />
        )}
        <Section title={texts.sections.secondFactor}>
          <SecondFactorFields
            value={draft.second_factor_required_from}
            onChange={(second_factor_required_from) => set({ second_factor_required_from })}
            error={form.errorOf('second_factor_required_from')}
          />
        </Section>
        {!isProblem(form.problem, 'role.in_use') && <ProblemAlert error={form.problem} />}
        <FormActions>
          <Button
            type="submit"
            loading={form.isSending}
            disabled={role !== undefined && Object.keys(changes).length === 0}
          >
            {submitLabel}
          </Button>
        </FormActions>
      </Stack>
    </form>
  );
}
