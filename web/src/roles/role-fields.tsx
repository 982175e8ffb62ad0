import { Checkbox, Group, MultiSelect, Stack, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { Section } from '../components/page';
import type { ProblemForm } from '../components/forms/use-problem-form';
import type { NewPrefixProps } from '../permissions/new-prefix';
import { PermissionPicker } from '../permissions/permission-picker';
import type { Role } from './data';
import type { RoleDraft } from './role-draft';
import { useRoleRights } from './use-roles';
import { useRolesTexts } from './use-roles-texts';

interface RoleFieldsProps {
  draft: RoleDraft;
  set: (changes: Partial<RoleDraft>) => void;
  /** whether the role is new, and its name can still be chosen */
  isNew: boolean;
  /** all roles */
  roles: Role[];
  form: ProblemForm;
  newPrefix: Omit<NewPrefixProps, 'fault'>;
}

/** Asks for the fields of a custom role, except for the second factor. */
export function RoleFields({ draft, set, isNew, roles, form, newPrefix }: RoleFieldsProps): ReactNode {
  const texts = useRolesTexts();
  const { mayGrant } = useRoleRights();
  const grantable = roles.filter((role) => draft.may_grant.includes(role.name) || mayGrant(role, roles));
  const known = roles.flatMap(({ permissions }) => permissions);
  const isTaken = form.fieldErrorOf('name')?.code === 'role.name_taken';
  const nameError = form.errorOf('name') && (isTaken ? form.errorOf('name') : texts.nameRule);
  const isInUse = form.fieldErrorOf('user_types')?.code === 'role.in_use';
  const typesError = form.errorOf('user_types') && (isInUse ? texts.typesInUse : texts.typesRequired);
  return (
    <>
      <Section title={texts.sections.general}>
        <Stack gap="md">
          {isNew && (
            <TextInput
              label={texts.name}
              description={texts.nameHint}
              value={draft.name}
              onChange={(event) => set({ name: event.currentTarget.value })}
              error={nameError}
              required
              maxLength={64}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              data-autofocus
            />
          )}
          <TextInput
            label={texts.purpose}
            description={texts.purposeHint}
            value={draft.description}
            onChange={(event) => set({ description: event.currentTarget.value })}
            error={form.errorOf('description')}
            maxLength={500}
          />
          <Checkbox.Group
            label={texts.types}
            value={draft.user_types}
            onChange={(user_types) => set({ user_types })}
            error={typesError}
          >
            <Group gap="lg" mt={6}>
              {(['system', 'carrier'] as const).map((type) => (
                <Checkbox key={type} value={type} label={texts.userTypes[type]} />
              ))}
            </Group>
          </Checkbox.Group>
        </Stack>
      </Section>
      <Section title={texts.sections.permissions}>
        <Text size="sm" c="dimmed" mb="sm">
          {texts.permissionsHint}
        </Text>
        <PermissionPicker
          value={draft.permissions}
          onChange={(permissions) => set({ permissions })}
          known={known}
          error={form.errorOf('permissions')}
          newPrefix={{ fault: form.fieldErrorOf('permissions'), ...newPrefix }}
        />
      </Section>
      <Section title={texts.sections.grants}>
        <MultiSelect
          label={texts.mayGrant}
          description={texts.mayGrantHint}
          data={grantable.map(({ name }) => name)}
          value={draft.may_grant}
          onChange={(may_grant) => set({ may_grant })}
          error={form.errorOf('may_grant')}
          searchable
          clearable
        />
      </Section>
    </>
  );
}
