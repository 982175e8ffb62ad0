import { Autocomplete, Group, MultiSelect, PasswordInput, Radio, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { api, dataOf, type Schema } from '../../api/client';
import { changed } from '../../api/stale';
import { DialogButtons } from '../../components/dialogs/dialog';
import { Form } from '../../components/forms/form';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { useIdempotencyKey } from '../../components/forms/use-idempotency-key';
import { type ProblemForm, useProblemForm } from '../../components/forms/use-problem-form';
import { useRoles } from '../../roles/use-roles';
import { useMe } from '../../session/use-me';
import { useCarriers, useIsNewCarrier } from '../carriers';
import { useUsersTexts } from '../use-users-texts';

interface NewUser {
  user_type: Schema<'UserType'>;
  name: string;
  email: string;
  first_name: string;
  last_name: string;
  carrier_id: string;
  roles: string[];
  password: string;
}

const fields = ['user_type', 'name', 'email', 'first_name', 'last_name', 'carrier_id', 'roles', 'password'] as const;

/** Creates a user with an invitation or an initial password, and opens the page of the user. */
export function CreateUserForm({ onClose }: { onClose: () => void }): ReactNode {
  const texts = useUsersTexts();
  const { user: me } = useMe();
  const navigate = useNavigate();
  const form = useProblemForm(fields);
  const [access, setAccess] = useState<'invite' | 'password'>('invite');
  const [values, setValues] = useState<NewUser>({
    user_type: 'carrier',
    name: '',
    email: '',
    first_name: '',
    last_name: '',
    carrier_id: me.carrier_id ?? '',
    roles: [],
    password: '',
  });
  const idempotency = useIdempotencyKey();
  const set = (changes: Partial<NewUser>) => setValues({ ...values, ...changes });
  const create = async () => {
    let user_id = '';
    const isCreated = await form.submit(async () => {
      const body = bodyOf(values, access === 'password');
      ({ user_id } = await idempotency.sendOnce(body, (header) =>
        dataOf(api.POST('/user/create', { params: { header }, body })),
      ));
      await changed('users');
    });
    if (!isCreated) return;
    const { name, email } = values;
    notifications.show({ message: access === 'invite' ? texts.create.invited(email) : texts.create.created(name) });
    await navigate(`/users/${user_id}`);
  };
  return (
    <Form onSubmit={create}>
      <UserFields values={values} set={set} form={form} />
      <Radio.Group
        label={texts.create.access}
        value={access}
        onChange={(chosen) => setAccess(chosen === 'password' ? chosen : 'invite')}
      >
        <Stack gap="xs" mt={6}>
          <Radio value="invite" label={texts.create.invite} description={texts.create.inviteHint} />
          <Radio value="password" label={texts.create.password} description={texts.create.passwordHint} />
        </Stack>
      </Radio.Group>
      {access === 'password' && (
        <PasswordInput
          label={texts.create.initialPassword}
          value={values.password}
          onChange={(event) => set({ password: event.currentTarget.value })}
          error={form.errorOf('password')}
          required
          autoComplete="new-password"
        />
      )}
      <ProblemAlert error={form.problem} />
      <DialogButtons onCancel={onClose} isSending={form.isSending}>
        {access === 'invite' ? texts.create.submitInvite : texts.create.submit}
      </DialogButtons>
    </Form>
  );
}

interface UserFieldsProps {
  values: NewUser;
  set: (changes: Partial<NewUser>) => void;
  form: ProblemForm;
}

function UserFields({ values, set, form }: UserFieldsProps): ReactNode {
  const texts = useUsersTexts();
  const { user: me } = useMe();
  const roles = useRoles();
  const carriers = useCarriers();
  const isNewCarrier = useIsNewCarrier(values.carrier_id);
  const isSystem = values.user_type === 'system';
  const line = (field: 'name' | 'email' | 'first_name' | 'last_name', isRequired = false) => (
    <TextInput
      label={isRequired ? texts.fields[field] : texts.create.optional(texts.fields[field])}
      value={values[field]}
      onChange={(event) => set({ [field]: event.currentTarget.value })}
      error={form.errorOf(field)}
      required={isRequired}
      autoComplete="off"
      // The dialog sets the focus when it opens, but the form may be loaded later.
      autoFocus={field === 'name'}
      {...(field === 'name' ? { 'data-autofocus': true } : {})}
    />
  );
  return (
    <>
      {me.user_type === 'system' && (
        <Radio.Group
          label={texts.fields.user_type}
          value={values.user_type}
          onChange={(type) => set({ user_type: type === 'system' ? type : 'carrier', roles: [] })}
        >
          <Group mt={6}>
            <Radio value="carrier" label={texts.userType.carrier} />
            <Radio value="system" label={texts.userType.system} />
          </Group>
        </Radio.Group>
      )}
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {line('name', true)}
        {line('email', true)}
        {line('first_name')}
        {line('last_name')}
        {!isSystem && me.user_type === 'system' && (
          <Autocomplete
            label={texts.fields.carrier_id}
            description={isNewCarrier ? texts.create.newCarrier : undefined}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            descriptionProps={{ role: 'status' }}
            data={carriers}
            limit={20}
            value={values.carrier_id}
            onChange={(carrier_id) => set({ carrier_id })}
            error={form.errorOf('carrier_id')}
            required
          />
        )}
        {roles.data !== undefined && (
          <MultiSelect
            label={texts.create.optional(texts.fields.roles)}
            data={roles.data.filter(({ user_types }) => user_types.includes(values.user_type)).map(({ name }) => name)}
            value={values.roles}
            onChange={(chosen) => set({ roles: chosen })}
            error={form.errorOf('roles')}
            clearable
            clearButtonProps={{ 'aria-label': texts.create.clearRoles }}
          />
        )}
      </SimpleGrid>
    </>
  );
}

function bodyOf(values: NewUser, withPassword: boolean): Schema<'CreateUserRequest'> {
  const { user_type, name, email, first_name, last_name, carrier_id, roles, password } = values;
  return {
    user_type,
    name: name.trim(),
    email: email.trim(),
    first_name: first_name.trim(),
    last_name: last_name.trim(),
    roles,
    ...(user_type === 'carrier' ? { carrier_id: carrier_id.trim() } : {}),
    ...(withPassword ? { password } : {}),
  };
}
