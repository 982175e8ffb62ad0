import { Button, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { permissionPattern } from './permissions';
import classes from './permissions.module.css';
import { usePermissionTexts } from './use-permission-texts';

/**
 * Asks for a permission of another module. Enter and the button add it. Until then, the surrounding
 * form cannot be submitted, because the typed permission would be lost.
 */
export function AddPermission({ onAdd }: { onAdd: (permission: string) => void }): ReactNode {
  const texts = usePermissionTexts();
  const [typed, setTyped] = useState('');
  const [isMalformed, setIsMalformed] = useState(false);
  const add = () => {
    const permission = typed.trim();
    if (permission === '') return;
    setIsMalformed(!permissionPattern.test(permission));
    if (!permissionPattern.test(permission)) return;
    onAdd(permission);
    setTyped('');
  };
  return (
    <TextInput
      label={texts.addLabel}
      description={texts.addHint}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        setIsMalformed(false);
      }}
      ref={(input) => input?.setCustomValidity(typed.trim() === '' ? '' : texts.pending)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter') return;
        // Otherwise Enter would submit the surrounding form.
        event.preventDefault();
        add();
      }}
      error={isMalformed ? texts.malformed : undefined}
      maw={420}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      rightSectionWidth={124}
      rightSectionProps={{ className: classes.add }}
      rightSection={
        <Button variant="subtle" size="compact-sm" onClick={add} disabled={typed.trim() === ''}>
          {texts.add}
        </Button>
      }
    />
  );
}
