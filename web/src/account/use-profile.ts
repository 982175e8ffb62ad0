import { useState } from 'react';
import { api, dataOf } from '../api/client';
import { isProblem } from '../api/problems';
import { queryClient } from '../api/query-client';
import { changed } from '../api/stale';
import { useUnsavedChanges } from '../components/unsaved-changes';
import { type ProblemForm, useProblemForm } from '../components/use-problem-form';
import { meQuery } from '../session/data';
import { type Me, useMe } from '../session/use-me';
import { type PersonField, personFields } from '../users/fields';

/** The form with the user's own profile. */
export interface ProfileEditor {
  form: ProblemForm;
  /** whether the profile was changed elsewhere since it was read */
  isStale: boolean;
  isChanged: boolean;
  valueOf: (field: PersonField) => string;
  change: (field: PersonField, value: string) => void;
  discard: () => void;
  /** Sends the changed fields only. Returns whether it succeeded. */
  save: () => Promise<boolean>;
}

/** Edits the user's own profile, and saves the fields that differ from the stored profile. */
export function useProfile(): ProfileEditor {
  const { user } = useMe();
  const form = useProblemForm(personFields);
  // The version that the draft started with. A later version must not silently become its base.
  const [edit, setEdit] = useState<{ base: Me['user']; draft: Partial<Record<PersonField, string>> } | null>(null);
  const { base, draft } = edit ?? { base: user, draft: {} };
  const isStale = isProblem(form.problem, 'user.version_mismatch');
  const edited = personFields.filter((field) => (draft[field] ?? base[field] ?? '').trim() !== (base[field] ?? ''));
  useUnsavedChanges(edited.length > 0 && !form.isSending);
  const discard = () => {
    setEdit(null);
    form.clear();
  };
  const save = async () => {
    const body = Object.fromEntries(edited.map((field) => [field, draft[field]?.trim() || null]));
    const params = { path: { user_id: user.user_id }, header: { 'If-Match': `"${base.version}"` } };
    const isSaved = await form.submit(async () => {
      try {
        await dataOf(api.PATCH('/user/{user_id}', { params, body }));
      } catch (error) {
        if (isProblem(error, 'user.version_mismatch')) {
          // The page asks the user to check the input. The next attempt may overwrite this version.
          const latest = await queryClient.fetchQuery({ ...meQuery(), staleTime: 0 });
          setEdit({ base: latest, draft: Object.fromEntries(edited.map((field) => [field, draft[field]])) });
        }
        throw error;
      }
      await changed('me');
    });
    if (isSaved) discard();
    return isSaved;
  };
  return {
    form,
    isStale,
    isChanged: edited.length > 0,
    valueOf: (field) => draft[field] ?? base[field] ?? '',
    change: (field, value) => setEdit({ base, draft: { ...draft, [field]: value } }),
    discard,
    save,
  };
}
