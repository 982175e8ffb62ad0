import { Button, Input, Stack, Switch, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type ReactNode, useDeferredValue, useState } from 'react';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import { AddPermission } from './add-permission';
import { NewPrefix, type NewPrefixProps } from './new-prefix';
import { PermissionModule, toggled } from './permission-module';
import { groupedByModule, isOwn, ownPermissions } from './permissions';
import classes from './permissions.module.css';
import { permissionTexts as de } from './texts.de';
import { permissionTexts as en } from './texts.en';

/** Number of permissions up to which all modules are open at first, and no search is needed. */
const fewPermissions = 60;

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
  const add = (permissions: string[]) => {
    setAdded([...added, ...permissions]);
    onChange([...new Set([...value, ...permissions])]);
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
          <Modules permissions={[...offered, ...added, ...value]} value={value} onChange={onChange} />
          {can('*') && <AddPermission onAdd={add} />}
        </>
      )}
      {error !== undefined && <Input.Error role="alert">{error}</Input.Error>}
      <NewPrefix {...newPrefix} />
    </Stack>
  );
}

interface ModulesProps {
  permissions: string[];
  value: string[];
  onChange: (permissions: string[]) => void;
}

/** Shows the modules with their permissions, and searches in them. */
function Modules({ permissions, value, onChange }: ModulesProps): ReactNode {
  const texts = useTexts({ en, de });
  const [search, setSearch] = useState('');
  const [isOpen, setIsOpen] = useState<Record<string, boolean>>({});
  const text = useDeferredValue(search.trim().toLowerCase());
  const all = groupedByModule(permissions);
  const nameOf = (one: string) => (isOwn(one) ? `${one} ${texts.meanings[one]}` : one).toLowerCase();
  const groups = all
    .map((group) => ({ ...group, permissions: group.permissions.filter((one) => nameOf(one).includes(text)) }))
    .filter((group) => group.permissions.length > 0);
  const found = groups.flatMap((group) => group.permissions);
  const isLong = all.flatMap((group) => group.permissions).length > fewPermissions;
  const chosen = new Set(value);
  return (
    <>
      {isLong && (
        <Stack gap="xs" align="flex-start">
          <TextInput
            type="search"
            w={{ base: '100%', sm: 320 }}
            aria-label={texts.search}
            placeholder={texts.search}
            leftSection={<IconSearch size={16} aria-hidden />}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            // Otherwise Enter would submit the surrounding form.
            onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
          />
          {text !== '' && found.some((one) => !chosen.has(one)) && (
            <Button size="xs" variant="default" onClick={() => onChange(toggled(value, found, true))}>
              {texts.selectFound(found.length)}
            </Button>
          )}
        </Stack>
      )}
      {text !== '' && groups.length === 0 && <span role="status">{texts.nothingFound}</span>}
      {groups.length > 0 && (
        <div
          className={classes.groups}
          // One listener for all permissions: each renders again only when it changes.
          onChange={({ target }) => {
            if (target instanceof HTMLInputElement && target.name === 'permission')
              onChange(toggled(value, [target.value], target.checked));
          }}
        >
          {groups.map(({ module, permissions: names }) => {
            const open = isOpen[module] ?? (!isLong || text !== '');
            return (
              <PermissionModule
                key={module}
                module={module}
                permissions={names}
                chosen={names.filter((one) => chosen.has(one))}
                isOpen={open}
                onToggle={() => setIsOpen({ ...isOpen, [module]: !open })}
                onSelect={(isSelected) => onChange(toggled(value, names, isSelected))}
              />
            );
          })}
        </div>
      )}
    </>
  );
}
