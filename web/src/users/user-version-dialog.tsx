import type { ReactNode } from 'react';
import { TimeText } from '../components/time-text';
import { VersionDialog } from '../components/version-dialog';
import { useTexts } from '../texts/language';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';
import type { UserEdit } from './use-user-edit';
import { useValueText } from './use-value-text';
import { valuesOf } from './user-values';

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
