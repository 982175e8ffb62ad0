import { type ReactNode, useState } from 'react';
import { changed as hasChanged } from '../api/stale';
import { pick } from '../components/drafts/draft';
import { DraftForm } from '../components/drafts/draft-form';
import { useDraft } from '../components/drafts/use-draft';
import { Section } from '../components/page';
import { useValueText } from '../users/use-value-text';
import { changeRole, createRole, readRole, type Role } from './data';
import { draftOf } from './role-draft';
import { RoleFacts } from './role-facts';
import { RoleFields } from './role-fields';
import { SecondFactorFields } from './second-factor-fields';
import { useRolesTexts } from './use-roles-texts';

interface RoleFormProps {
  /** the role to change; absent for a new role */
  role?: Role;
  /** all roles */
  roles: Role[];
  /** Continues after the role was saved. */
  onSaved?: (role: Role) => unknown;
}

/** Creates or changes a role. Of a built-in role, only the second factor can be changed. */
export function RoleForm({ role, roles, onSaved }: RoleFormProps): ReactNode {
  const texts = useRolesTexts();
  const textOf = useValueText();
  const [isMeant, setIsMeant] = useState(false);
  const draft = useDraft<Role | undefined, ReturnType<typeof draftOf>>({
    record: role,
    valuesOf: draftOf,
    read: () => readRole(role?.name ?? ''),
    save: ({ base, values, changed }) =>
      base === undefined ? createRole(values, isMeant) : changeRole(base, pick(values, changed), isMeant),
    onSaved: async (saved) => {
      await hasChanged('roles');
      if (saved !== undefined) onSaved?.(saved);
    },
    savedText: texts.saved,
  });
  const names = {
    description: texts.purpose,
    user_types: texts.types,
    permissions: texts.sections.permissions,
    may_grant: texts.mayGrant,
    second_factor_required_from: texts.sections.secondFactor,
  };
  const { values, set, form } = draft;
  return (
    <DraftForm
      draft={draft}
      names={names}
      textOf={textOf}
      {...(role === undefined ? { submitLabel: texts.create } : {})}
    >
      {role?.built_in === true ? (
        <RoleFacts role={role} />
      ) : (
        <RoleFields
          draft={values}
          set={set}
          isNew={role === undefined}
          roles={roles}
          form={form}
          newPrefix={{ isMeant, onMean: setIsMeant }}
        />
      )}
      <Section title={texts.sections.secondFactor}>
        <SecondFactorFields
          value={values.second_factor_required_from}
          onChange={(second_factor_required_from) => set({ second_factor_required_from })}
          error={form.errorOf('second_factor_required_from')}
        />
      </Section>
    </DraftForm>
  );
}
