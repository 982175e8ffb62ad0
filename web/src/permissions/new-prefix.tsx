import { Checkbox } from '@mantine/core';
import type { ReactNode } from 'react';
import type { FieldError } from '../api/problems';
import { useTexts } from '../texts/language';
import { moduleOf, ownPermissions } from './permissions';
import { permissionTexts as de } from './texts.de';
import { permissionTexts as en } from './texts.en';

/** Whether the user means a module whose name resembles a module of the service. */
export interface NewPrefixProps {
  /** error of the permissions */
  fault: FieldError | undefined;
  isMeant: boolean;
  onMean: (isMeant: boolean) => void;
}

/** Lets the user confirm the name of another module after the API found it to be misspelt. */
export function NewPrefix({ fault, isMeant, onMean }: NewPrefixProps): ReactNode {
  const texts = useTexts({ en, de });
  const permission = fault?.code === 'permission.unknown' ? fault.params?.['permission'] : undefined;
  const isForeign =
    typeof permission === 'string' && ownPermissions.every((own) => moduleOf(own) !== moduleOf(permission));
  if (!isForeign && !isMeant) return null;
  return (
    <Checkbox checked={isMeant} onChange={(event) => onMean(event.currentTarget.checked)} label={texts.newPrefix} />
  );
}
