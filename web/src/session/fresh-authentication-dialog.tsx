import { Button, PasswordInput, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api, dataOf, type Schema } from '../api/client';
import { Dialog } from '../components/dialogs/dialog';
import { Form } from '../components/forms/form';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { askForPasskey } from '../login/passkeys';
import { ProofChoice } from '../login/second-factor-form';
import { useShellTexts } from '../texts/use-shell-texts';
import { useFreshAuthentication } from './fresh-authentication';
import { replaceToken } from './session';
import { useMe } from './use-me';

type Proof = Schema<'ReauthenticateRequest'>;

/** Asks the user to authenticate again before a sensitive operation. */
export function FreshAuthenticationDialog(): ReactNode {
  const texts = useShellTexts();
  const settle = useFreshAuthentication();
  return (
    <Dialog opened={settle !== null} onClose={() => settle?.(false)} title={texts.fresh.title} zIndex={350}>
      {settle !== null && <ProofForm onProved={() => settle(true)} />}
    </Dialog>
  );
}

function ProofForm({ onProved }: { onProved: () => void }): ReactNode {
  const texts = useShellTexts().fresh;
  const { user } = useMe();
  const form = useProblemForm();
  const submit = (proofOf: () => Promise<Proof>) =>
    form.submit(async () => {
      const body = await proofOf();
      const { access_token, expires_in } = await dataOf(api.POST('/auth/reauthenticate', { body }));
      replaceToken(access_token, expires_in);
      onProved();
    });
  const passkeyProof = async () => {
    const options = await dataOf(api.POST('/auth/reauthenticate/options'));
    return { challenge: options.challenge, passkey: await askForPasskey(options) };
  };
  return (
    <Stack gap="md">
      <Text size="sm">{texts.text}</Text>
      <ProblemAlert error={form.problem} />
      {user.second_factors.length === 0 ? (
        <PasswordProof
          isSending={form.isSending}
          onPassword={(password) => void submit(() => resolved({ password }))}
        />
      ) : (
        <ProofChoice
          // Users with a factor have recovery codes.
          factors={[...user.second_factors, 'recovery_code']}
          isSending={form.isSending}
          onCode={(proof) => void submit(() => resolved(proof))}
          onPasskey={() => void submit(passkeyProof)}
        />
      )}
    </Stack>
  );
}

const resolved = (proof: Proof) => Promise.resolve(proof);

interface PasswordProofProps {
  isSending: boolean;
  onPassword: (password: string) => void;
}

function PasswordProof({ isSending, onPassword }: PasswordProofProps): ReactNode {
  const texts = useShellTexts().fresh;
  const [password, setPassword] = useState('');
  return (
    <Form onSubmit={() => onPassword(password)}>
      <PasswordInput
        label={texts.password}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        required
        data-autofocus
      />
      <Button type="submit" loading={isSending}>
        {texts.submit}
      </Button>
    </Form>
  );
}
