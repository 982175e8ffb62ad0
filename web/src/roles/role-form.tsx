import { Button, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { isProblem } from '../api/problems';
import { changed } from '../api/stale';
import { FormActions, Section } from '../components/page';
import { ProblemAlert } from '../components/problem-alert';
import { useUnsavedChanges } from '../components/unsaved-changes';
import { useProblemForm } from '../components/use-problem-form';
import { useTexts } from '../texts/language';
import { readRole, type Role } from './data';
import { changesOf, draftOf, type RoleChanges, type RoleDraft, type RoleField } from './role-draft';
import { RoleFacts } from './role-facts';
import { RoleFields } from './role-fields';
import { type RoleConflict, RoleVersionDialog } from './role-version-dialog';
import { SecondFactorFields } from './second-factor-fields';
import { rolesTexts as de } from './texts.de';
import { rolesTexts as en } from './texts.en';

/** What a form saves. */
export interface RoleSave {
  draft: RoleDraft;
  /** fields of an existing role that the form changes */
  changes: RoleChanges;
  /** version of the existing role that the form started with */
  version: number;
  /** whether the names of other modules are meant, even if they look misspelt */
  new_prefix: boolean;
}

interface RoleFormProps {
  /** the role to change; absent for a new role */
  role?: Role;
  /** all roles */
  roles: Role[];
  submitLabel: string;
  /** Saves a new role, or the changes of an existing role. Returns the saved role. */
  onSave: (save: RoleSave) => Promise<Role>;
}

const fields = ['name', 'description', 'user_types', 'permissions', 'may_grant', 'second_factor_required_from'];

/**
 * Creates or changes a role. Of a built-in role, only the second factor can be changed. If the role
 * was saved elsewhere since the first change, the form saves nothing and shows both versions.
 */
export function RoleForm({ role, roles, submitLabel, onSave }: RoleFormProps): ReactNode {
  const texts = useTexts({ en, de });
  const form = useProblemForm(fields);
  // The version that the form started with. A later version must not silently become its base.
  const [edit, setEdit] = useState<{ base: Role | undefined; draft: RoleDraft } | null>(null);
  const [conflict, setConflict] = useState<RoleConflict | null>(null);
  const [isTypeMissing, setIsTypeMissing] = useState(false);
  const [isMeant, setIsMeant] = useState(false);
  const base = edit?.base ?? role;
  const before = draftOf(base);
  const draft = edit?.draft ?? before;
  const changes = changesOf(before, draft);
  useUnsavedChanges(Object.keys(changes).length > 0 && !form.isSending);
  const set = (next: Partial<RoleDraft>) => {
    setEdit({ base, draft: { ...draft, ...next } });
    setIsTypeMissing(false);
  };
  const send = async (on: Role | undefined, values: RoleDraft) => {
    const version = on?.version ?? 0;
    try {
      await onSave({ draft: values, changes: changesOf(draftOf(on), values), version, new_prefix: isMeant });
      setEdit(null);
      setConflict(null);
    } catch (error) {
      if (!isProblem(error, 'role.version_mismatch')) throw error;
      const theirs = await readRole(values.name);
      setConflict({ theirs, fields: Object.keys(changes) as RoleField[] });
    }
  };
  const save = async () => {
    if (draft.user_types.length === 0) setIsTypeMissing(true);
    else await form.submit(() => send(base, draft));
  };
  const resolve = async (chosen: RoleField[]) => {
    if (conflict === null) return;
    const kept = Object.fromEntries(chosen.map((field) => [field, draft[field]]));
    if (chosen.length > 0) await form.submit(() => send(conflict.theirs, { ...draftOf(conflict.theirs), ...kept }));
    else {
      await changed('roles');
      setEdit(null);
      setConflict(null);
      form.clear();
    }
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
          <RoleFields
            draft={draft}
            set={set}
            isNew={role === undefined}
            roles={roles}
            form={shown}
            newPrefix={{ isMeant, onMean: setIsMeant }}
          />
        )}
        <Section title={texts.sections.secondFactor}>
          <SecondFactorFields
            value={draft.second_factor_required_from}
            onChange={(second_factor_required_from) => set({ second_factor_required_from })}
            error={form.errorOf('second_factor_required_from')}
          />
        </Section>
        {conflict === null && !isProblem(form.problem, 'role.in_use') && <ProblemAlert error={form.problem} />}
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
      <RoleVersionDialog
        conflict={conflict}
        before={before}
        mine={draft}
        form={form}
        onResolve={(chosen) => void resolve(chosen)}
        onCancel={() => setConflict(null)}
      />
    </form>
  );
}
