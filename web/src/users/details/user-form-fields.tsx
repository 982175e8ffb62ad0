import { Checkbox, Fieldset, JsonInput, SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Draft } from '../../components/drafts/use-draft';
import { TimeInput } from '../../components/forms/time-input';
import { useLanguage } from '../../texts/language';
import type { User } from '../data';
import { type FieldDefinition, type PersonField, personFields, userFields } from '../fields';
import { useUsersTexts } from '../use-users-texts';
import classes from '../users.module.css';
import { isJsonObject, type UserValues } from './user-values';

const autoComplete = 'off';
const groupClasses = { legend: classes.legend ?? '' };

interface FieldsProps {
  draft: Draft<UserValues>;
  user: User;
}

/** The fields of a user in groups: person, login, access and attributes. */
export function UserFormFields({ draft, user }: FieldsProps): ReactNode {
  const texts = useUsersTexts();
  const language = useLanguage();
  const line = (field: PersonField | 'name' | 'email', hint?: string) => (
    <TextInput
      key={field}
      label={texts.fields[field]}
      description={hint}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      value={draft.values[field]}
      onChange={(event) => draft.set({ [field]: event.currentTarget.value })}
      error={draft.form.errorOf(field)}
      autoComplete={autoComplete}
    />
  );
  const emailHint = user.email_pending === null ? undefined : texts.edit.emailPending(user.email_pending);
  return (
    <Stack gap="md">
      <Fieldset mx={0} classNames={groupClasses} legend={texts.edit.person}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {personFields.map((field) => line(field, (userFields[field] as FieldDefinition).hint?.[language]))}
        </SimpleGrid>
      </Fieldset>
      <Fieldset mx={0} classNames={groupClasses} legend={texts.edit.login}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {line('name')}
          {line('email', emailHint ?? (user.status === 'invited' ? undefined : texts.edit.emailHint))}
        </SimpleGrid>
        <Checkbox
          mt="md"
          label={texts.fields.must_change_password}
          checked={draft.values.must_change_password}
          onChange={(event) => draft.set({ must_change_password: event.currentTarget.checked })}
        />
      </Fieldset>
      <AccessFields draft={draft} user={user} />
      <Fieldset mx={0} classNames={groupClasses} legend={texts.fields.attributes}>
        <JsonInput
          aria-label={texts.fields.attributes}
          description={texts.edit.attributesHint}
          value={draft.values.attributes}
          onChange={(attributes) => draft.set({ attributes })}
          error={
            isJsonObject(draft.values.attributes) ? draft.form.errorOf('attributes') : texts.edit.attributesInvalid
          }
          autosize
          minRows={2}
          maxRows={16}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        />
      </Fieldset>
    </Stack>
  );
}

function AccessFields({ draft, user }: FieldsProps): ReactNode {
  const texts = useUsersTexts();
  const { carrier_scope, allowed_ips, second_factor_required_from } = draft.values;
  return (
    <Fieldset mx={0} classNames={groupClasses} legend={texts.edit.access}>
      <Stack gap="md">
        <TagsInput
          label={texts.fields.allowed_ips}
          description={texts.edit.allowedIpsHint}
          value={allowed_ips}
          onChange={(next) => draft.set({ allowed_ips: next })}
          error={draft.form.errorOf('allowed_ips')}
          splitChars={[',', ' ']}
          acceptValueOnBlur
        />
        {user.user_type === 'system' && (
          <>
            <Checkbox
              label={texts.edit.allCarriers}
              checked={carrier_scope === null}
              onChange={(event) => draft.set({ carrier_scope: event.currentTarget.checked ? null : [] })}
            />
            {carrier_scope !== null && (
              <TagsInput
                label={texts.fields.carrier_scope}
                description={texts.edit.carrierScopeHint}
                value={carrier_scope}
                onChange={(next) => draft.set({ carrier_scope: next })}
                error={draft.form.errorOf('carrier_scope')}
                splitChars={[',', ' ']}
                acceptValueOnBlur
              />
            )}
          </>
        )}
        <TimeInput
          label={texts.fields.second_factor_required_from}
          description={texts.edit.secondFactorHint}
          value={second_factor_required_from}
          onChange={(time) => draft.set({ second_factor_required_from: time })}
          error={draft.form.errorOf('second_factor_required_from')}
          maw={280}
        />
      </Stack>
    </Fieldset>
  );
}
