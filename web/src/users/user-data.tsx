import { Button, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { FormActions } from '../components/form-actions';
import { ProblemAlert } from '../components/problem-alert';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';
import type { User } from './user';
import { UserFacts } from './user-facts';
import { UserFormFields } from './user-form-fields';
import { type UserEdit, useUserEdit } from './use-user-edit';
import { isJsonObject, type UserField } from './user-values';
import classes from './users.module.css';
import { UserVersionDialog } from './user-version-dialog';

const fields: UserField[] = [
  'name',
  'email',
  'first_name',
  'last_name',
  'phone',
  'job_title',
  'locale',
  'timezone',
  'carrier_scope',
  'allowed_ips',
  'second_factor_required_from',
  'attributes',
];

/** Shows the fields of a user. With `user:update`, the caller can change them. */
export function UserData({ user }: { user: User }): ReactNode {
  const { can } = useMe();
  const edit = useUserEdit(user, fields);
  const readOnly = !can('user:update') || user.deleted_at !== null;
  return (
    <div className={classes.page}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isJsonObject(edit.values.attributes)) void edit.save();
        }}
      >
        <Stack gap="md">
          <UserFormFields edit={edit} user={user} readOnly={readOnly} />
          <SaveBar edit={edit} />
        </Stack>
        <UserVersionDialog edit={edit} />
      </form>
      <UserFacts user={user} />
    </div>
  );
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
