import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, dataOf } from '../../api/client';
import { isProblem } from '../../api/problems';
import { FormActions } from '../../components/page';
import { ProblemAlert } from '../../components/problem-alert';
import { TimeText } from '../../components/time-text';
import { useUnsavedChanges } from '../../components/unsaved-changes';
import { type ProblemForm, useProblemForm } from '../../components/use-problem-form';
import { VersionDialog } from '../../components/version-dialog';
import { useTexts } from '../../texts/language';
import { usersTexts as de } from '../texts.de';
import { usersTexts as en } from '../texts.en';
import { useValueText } from '../use-value-text';
import { cacheUser, changeUser, type User } from '../user';
import { changedFields, changesOf, type UserField, type UserValues, valuesOf } from './user-values';

/** Two versions of a user, one saved elsewhere while the form was open. */
export interface VersionConflict {
  /** the user as saved elsewhere */
  theirs: User;
  /** fields that the form changes */
  fields: UserField[];
  /** values of the form */
  mine: UserValues;
  /** values that the form started with */
  before: UserValues;
}

/** The state of a form that edits a user. */
export interface UserEdit {
  values: UserValues;
  /** fields that differ from the user */
  changed: UserField[];
  set: (changes: Partial<UserValues>) => void;
  reset: () => void;
  form: ProblemForm;
  save: () => Promise<void>;
  conflict: VersionConflict | null;
  /** Saves the selected fields over the other version. Without fields, keeps the other version. */
  resolve: (fields: UserField[]) => Promise<boolean>;
  cancelResolve: () => void;
}

/**
 * Edits a user. Sends only the changed fields. If the user was saved elsewhere since the first
 * keystroke, saves nothing and sets `conflict`.
 */
export function useUserEdit(user: User, fields: readonly UserField[]): UserEdit {
  const texts = useTexts({ en, de });
  const queryClient = useQueryClient();
  const form = useProblemForm(fields);
  // The version that the form started with. A later version must not silently become its base.
  const [draft, setDraft] = useState<{ base: User; values: UserValues } | null>(null);
  const [conflict, setConflict] = useState<VersionConflict | null>(null);
  const base = draft?.base ?? user;
  const before = valuesOf(base);
  const values = draft?.values ?? before;
  const changed = changedFields(before, values);
  useUnsavedChanges(changed.length > 0 && !form.isSending);
  const reset = () => {
    setDraft(null);
    setConflict(null);
    form.clear();
  };
  const send = async (on: User, from: UserValues, sent: UserField[]) => {
    try {
      const saved = await changeUser(on, changesOf(from, values, sent));
      setDraft(null);
      setConflict(null);
      await cacheUser(queryClient, saved);
      notifications.show({ message: texts.edit.saved });
    } catch (error) {
      if (!isProblem(error, 'user.version_mismatch')) throw error;
      const theirs = await dataOf(api.GET('/user/{user_id}', { params: { path: { user_id: user.user_id } } }));
      setConflict({ theirs, fields: changed, mine: values, before });
    }
  };
  const resolve = async (chosen: UserField[]) => {
    if (conflict === null) return true;
    const { theirs } = conflict;
    if (chosen.length > 0) return form.submit(() => send(theirs, valuesOf(theirs), chosen));
    reset();
    await cacheUser(queryClient, theirs);
    return true;
  };
  return {
    values,
    changed,
    set: (changes) => setDraft({ base, values: { ...values, ...changes } }),
    reset,
    form,
    save: async () => {
      if (changed.length > 0) await form.submit(() => send(base, before, changed));
    },
    conflict,
    resolve,
    cancelResolve: () => setConflict(null),
  };
}

/** Shows buttons to save or discard the changes, as soon as there are any. */
export function SaveBar({ edit }: { edit: UserEdit }): ReactNode {
  const texts = useTexts({ en, de }).edit;
  return (
    <>
      {edit.conflict === null && <ProblemAlert error={edit.form.problem} />}
      {edit.changed.length > 0 && (
        <FormActions>
          <Button variant="default" onClick={edit.reset}>
            {texts.discard}
          </Button>
          <Button type="submit" loading={edit.form.isSending}>
            {texts.save}
          </Button>
        </FormActions>
      )}
    </>
  );
}

/** Asks which values to keep when the user was saved elsewhere. */
export function UserVersionDialog({ edit }: { edit: UserEdit }): ReactNode {
  const texts = useTexts({ en, de });
  const textOf = useValueText();
  const { conflict } = edit;
  return (
    <VersionDialog
      conflict={conflict && { ...conflict, theirs: valuesOf(conflict.theirs), version: conflict.theirs.version }}
      texts={texts.conflict}
      text={
        conflict && (
          <>
            {texts.conflict.text} <TimeText value={conflict.theirs.updated_at} />.
          </>
        )
      }
      nameOf={(field) => texts.fields[field]}
      textOf={textOf}
      form={edit.form}
      onResolve={(fields) => void edit.resolve(fields)}
      onCancel={edit.cancelResolve}
    />
  );
}
