import { Checkbox, Group, Text, UnstyledButton } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { memo, type ReactNode, useId } from 'react';
import { own } from '../own';
import { PermissionName } from './permission-groups';
import classes from './permissions.module.css';
import { usePermissionTexts } from './use-permission-texts';

interface PermissionModuleProps {
  module: string;
  permissions: string[];
  /** the chosen permissions of the module */
  chosen: string[];
  isOpen: boolean;
  onToggle: () => void;
  /** Chooses all permissions of the module, or none. */
  onSelect: (isSelected: boolean) => void;
}

/** Shows a module that can be closed and chosen as a whole, with a checkbox for each permission. */
export function PermissionModule(props: PermissionModuleProps): ReactNode {
  const { module, permissions, chosen, isOpen, onToggle, onSelect } = props;
  const id = useId();
  const texts = usePermissionTexts();
  const name = own(texts.modules, module) ?? module;
  const Chevron = isOpen ? IconChevronDown : IconChevronRight;
  return (
    <div role="group" aria-labelledby={id} className={classes.group}>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Checkbox
          aria-label={texts.wholeModule(name)}
          checked={chosen.length === permissions.length}
          indeterminate={chosen.length > 0 && chosen.length < permissions.length}
          onChange={(event) => onSelect(event.currentTarget.checked)}
        />
        <UnstyledButton onClick={onToggle} aria-expanded={isOpen} className={classes.module}>
          <Text id={id} span size="sm" fw={600} className={classes.name}>
            {name}
          </Text>
          <Text span size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
            {texts.chosenOf(chosen.length, permissions.length)} <Chevron size={12} aria-hidden />
          </Text>
        </UnstyledButton>
      </Group>
      {isOpen && (
        <div className={classes.items}>
          {permissions.map((permission) => (
            <PermissionBox key={permission} permission={permission} checked={chosen.includes(permission)} />
          ))}
        </div>
      )}
    </div>
  );
}

const ignore = () => undefined;

/** A checkbox whose changes the list around it handles. */
const PermissionBox = memo(function PermissionBox({ permission, checked }: { permission: string; checked: boolean }) {
  return (
    <Checkbox
      name="permission"
      value={permission}
      checked={checked}
      onChange={ignore}
      label={<PermissionName permission={permission} />}
    />
  );
});

/** Returns permissions with some of them chosen or not. */
export function toggled(value: readonly string[], names: readonly string[], isSelected: boolean): string[] {
  const others = value.filter((one) => !names.includes(one));
  return isSelected ? [...others, ...names] : others;
}
