import { Button, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Form } from '../components/forms/form';
import { useShellTexts } from '../texts/use-shell-texts';

/** A kind of code. */
export type CodeKind = 'code' | 'recovery_code';

interface CodeFormProps {
  kind: CodeKind;
  isSending: boolean;
  /** why the service rejected the last code */
  error?: string | undefined;
  onCode: (proof: { code: string } | { recovery_code: string }) => void;
}

const codeLength = 6;

/**
 * Asks for a code of an authenticator app, or for a recovery code. Sends a code of an app as soon
 * as it is complete.
 */
export function CodeForm({ kind, isSending, error, onCode }: CodeFormProps): ReactNode {
  const texts = useShellTexts().secondFactor;
  const [value, setValue] = useState('');
  const send = (text: string) => onCode(kind === 'code' ? { code: text } : { recovery_code: text });
  const change = (text: string) => {
    // A pasted code often contains spaces.
    const code = kind === 'code' ? text.replace(/\D/g, '').slice(0, codeLength) : text;
    setValue(code);
    if (kind === 'code' && code.length === codeLength && code !== value) send(code);
  };
  return (
    <Form gap="sm" onSubmit={() => send(value.trim())}>
      <TextInput
        label={kind === 'code' ? texts.code : texts.recoveryCode}
        description={kind === 'code' ? texts.codeHint : texts.recoveryHint}
        error={error}
        value={value}
        onChange={(event) => change(event.currentTarget.value)}
        inputMode={kind === 'code' ? 'numeric' : 'text'}
        autoComplete={kind === 'code' ? 'one-time-code' : 'off'}
        autoCapitalize="characters"
        spellCheck={false}
        required
        autoFocus
        data-autofocus
      />
      <Button type="submit" loading={isSending} fullWidth>
        {texts.submit}
      </Button>
    </Form>
  );
}
