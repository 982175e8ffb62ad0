import { Checkbox } from '@mantine/core';
import type { ReactNode } from 'react';
import type { FieldError } from '../api/problems';
import { moduleOf, ownPermissions } from './permissions';
import { usePermissionTexts } from './use-permission-texts';

/** Whether the user means a module whose name resembles a module of the service. */
export interface NewPrefixProps {
  /** error of the permissions */
  fault: FieldError | undefined;
  isMeant: boolean;
  onMean: (isMeant: boolean) => void;
}

/** Lets the user confirm the name of another module after the API found it to be misspelt. */
export function NewPrefix({ fault, isMeant, onMean }: NewPrefixProps): ReactNode {
  const texts = usePermissionTexts();
  const permission = fault?.code === 'permission.unknown' ? fault.params?.['permission'] : undefined;
  const isForeign =
    typeof permission === 'string' && ownPermissions.every((own) => moduleOf(own) !== moduleOf(permission));
  if (!isForeign && !isMeant) return null;
  return (
    <Checkbox checked={isMeant} onChange={(event) => onMean(event.currentTarget.checked)} label={texts.newPrefix} />
  );
}
