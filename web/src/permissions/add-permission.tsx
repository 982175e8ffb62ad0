import { Button, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTexts } from '../texts/language';
import { permissionPattern } from './permissions';
import classes from './permissions.module.css';
import { permissionTexts as de } from './texts.de';
import { permissionTexts as en } from './texts.en';

/**
 * Asks for permissions of other modules. Enter and the button add them. Until then, the surrounding
 * form cannot be submitted, because the typed permissions would be lost.
 */
export function AddPermission({ onAdd }: { onAdd: (permissions: string[]) => void }): ReactNode {
  const texts = useTexts({ en, de });
  const [typed, setTyped] = useState('');
  const [isMalformed, setIsMalformed] = useState(false);
  const add = () => {
    const permissions = typed.split(/[\s,;]+/).filter((one) => one !== '');
    if (permissions.length === 0) return;
    const isWellFormed = permissions.every((one) => permissionPattern.test(one));
    setIsMalformed(!isWellFormed);
    if (!isWellFormed) return;
    onAdd(permissions);
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
