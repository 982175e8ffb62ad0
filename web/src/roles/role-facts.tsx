import type { ReactNode } from 'react';
import { Facts } from '../components/facts';
import { Section } from '../components/page';
import { own } from '../own';
import { PermissionList } from '../permissions/permission-list';
import type { Role } from './data';
import { useRolesTexts } from './use-roles-texts';

/** Shows a role to users who may not change it. */
export function RoleFacts({ role }: { role: Role }): ReactNode {
  const texts = useRolesTexts();
  return (
    <>
      <Section title={texts.sections.general}>
        <Facts
          facts={[
            [texts.purpose, (role.built_in ? own(texts.builtInPurposes, role.name) : undefined) ?? role.description],
            [texts.types, role.user_types.map((type) => texts.userTypes[type]).join(', ')],
            [texts.mayGrant, role.may_grant.length === 0 ? texts.noGrants : role.may_grant.join(', ')],
          ]}
        />
      </Section>
      <Section title={texts.sections.permissions}>
        <PermissionList permissions={role.permissions} />
      </Section>
    </>
  );
}
