import { Checkbox, Input, Stack, Switch } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import { AddPermission } from './add-permission';
import { NewPrefix, type NewPrefixProps } from './new-prefix';
import { PermissionGroups, PermissionName } from './permission-groups';
import { ownPermissions } from './permissions';
import { permissionTexts as de } from './texts.de';
import { permissionTexts as en } from './texts.en';

interface PermissionPickerProps {
  value: string[];
  onChange: (permissions: string[]) => void;
  /** permissions of other modules that are offered too */
  known?: readonly string[];
  error?: string | undefined;
  newPrefix: NewPrefixProps;
}

/**
 * Asks for permissions, grouped by module. Offers only permissions that the user holds, because the
 * API rejects other permissions.
 */
export function PermissionPicker({ value, onChange, known = [], error, newPrefix }: PermissionPickerProps): ReactNode {
  const texts = useTexts({ en, de });
  const { user, can } = useMe();
  const [added, setAdded] = useState<string[]>([]);
  const isAll = value.includes('*');
  const [beforeAll, setBeforeAll] = useState(value.filter((one) => one !== '*'));
  const offered = [...ownPermissions, ...known, ...user.permissions].filter(can);
  const setAll = (all: boolean) => {
    setBeforeAll(value);
    onChange(all ? ['*'] : beforeAll);
  };
  const add = (permission: string) => {
    setAdded([...added, permission]);
    if (!value.includes(permission)) onChange([...value, permission]);
  };
  return (
    <Stack gap="sm">
      {can('*') && (
        <Switch
          checked={isAll}
          onChange={(event) => setAll(event.currentTarget.checked)}
          label={texts.all}
          description={texts.allHint}
        />
      )}
      {!isAll && (
        <>
          <PermissionGroups permissions={[...offered, ...added, ...value]}>
            {(permission) => (
              <Checkbox
                key={permission}
                checked={value.includes(permission)}
                onChange={(event) =>
                  onChange(
                    event.currentTarget.checked
                      ? [...value, permission]
                      : value.filter((other) => other !== permission),
                  )
                }
                label={<PermissionName permission={permission} />}
              />
            )}
          </PermissionGroups>
          {can('*') && <AddPermission onAdd={add} />}
        </>
      )}
      {error !== undefined && <Input.Error role="alert">{error}</Input.Error>}
      <NewPrefix {...newPrefix} />
    </Stack>
  );
}
