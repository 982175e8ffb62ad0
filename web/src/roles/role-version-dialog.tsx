import type { ReactNode } from 'react';
import { exactTime } from '../components/time-text';
import type { ProblemForm } from '../components/use-problem-form';
import { VersionDialog } from '../components/version-dialog';
import { useLanguage, useTexts } from '../texts/language';
import { timeOf } from '../texts/time-of';
import { draftOf, type RoleDraft, type RoleField } from './role-draft';
import { rolesTexts as de } from './texts.de';
import { rolesTexts as en } from './texts.en';
import type { Role } from './data';

/** Two versions of a role, one saved elsewhere while the form was open. */
export interface RoleConflict {
  /** the role as saved elsewhere */
  theirs: Role;
  /** fields that the form changes */
  fields: RoleField[];
}

interface RoleVersionDialogProps {
  conflict: RoleConflict | null;
  /** values that the form started with */
  before: RoleDraft;
  /** values of the form */
  mine: RoleDraft;
  form: ProblemForm;
  onResolve: (fields: RoleField[]) => void;
  onCancel: () => void;
}

/** Asks which values to keep when the role was saved elsewhere. */
export function RoleVersionDialog({ conflict, before, mine, ...others }: RoleVersionDialogProps): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const names: Record<RoleField, string> = {
    description: texts.purpose,
    user_types: texts.types,
    permissions: texts.sections.permissions,
    may_grant: texts.mayGrant,
    second_factor_required_from: texts.sections.secondFactor,
  };
  const textOf = (field: RoleField, value: unknown): string => {
    if (Array.isArray(value)) return value.join(', ') || '–';
    const text = typeof value === 'string' ? value : '';
    const time = field === 'second_factor_required_from' ? timeOf(text) : null;
    return (time === null ? text : exactTime(time, language)) || '–';
  };
  const valuesOf = ({ name: _, ...values }: RoleDraft) => values;
  return (
    <VersionDialog
      conflict={
        conflict && {
          version: conflict.theirs.version,
          before: valuesOf(before),
          mine: valuesOf(mine),
          theirs: valuesOf(draftOf(conflict.theirs)),
          fields: conflict.fields,
        }
      }
      texts={texts.conflict}
      text={texts.conflict.text}
      nameOf={(field) => names[field]}
      textOf={textOf}
      {...others}
    />
  );
}
