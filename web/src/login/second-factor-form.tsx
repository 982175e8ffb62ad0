import { Anchor, Button, Stack, Text } from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { isProblem } from '../api/problems';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { sessionRequests, type SecondProof, type SessionTokens } from '../session/session-requests';
import { useShellTexts } from '../texts/use-shell-texts';
import { CodeForm, type CodeKind } from './code-form';
import { askForPasskey, canUsePasskeys } from './passkeys';

interface SecondFactorFormProps {
  challenge: string;
  /** the factors of the user: `totp`, `passkey`, `recovery_code` */
  factors: string[];
  onTokens: (tokens: SessionTokens) => void;
  /** Returns to the password. `expired`: whether the challenge is no longer valid. */
  onBack: (expired: boolean) => void;
}

/** Asks for the second factor of a login. */
export function SecondFactorForm({ challenge, factors, onTokens, onBack }: SecondFactorFormProps): ReactNode {
  const texts = useShellTexts();
  const form = useProblemForm();
  const submit = (proofOf: () => Promise<SecondProof>) =>
    form.submit(async () => {
      try {
        onTokens(await sessionRequests.secondFactor(challenge, await proofOf()));
      } catch (error) {
        if (!isProblem(error, 'auth.challenge_invalid')) throw error;
        onBack(true);
      }
    });
  const passkeyProof = async () => ({
    passkey: await askForPasskey(await sessionRequests.secondFactorOptions(challenge)),
  });
  return (
    <Stack gap="md">
      <Text fw={600} component="h2">
        {texts.secondFactor.title}
      </Text>
      <ProblemAlert error={form.problem} />
      <ProofChoice
        factors={factors}
        isSending={form.isSending}
        onCode={(proof) => void submit(() => Promise.resolve(proof))}
        onPasskey={() => void submit(passkeyProof)}
      />
      <Anchor component="button" type="button" size="sm" onClick={() => onBack(false)}>
        {texts.secondFactor.back}
      </Anchor>
    </Stack>
  );
}

interface ProofChoiceProps {
  factors: string[];
  isSending: boolean;
  onCode: (proof: { code: string } | { recovery_code: string }) => void;
  onPasskey: () => void;
}

/**
 * Asks for a second factor of the user, and offers the other factors. Users who lost their device
 * enter a recovery code, or ask an administrator.
 */
export function ProofChoice({ factors, isSending, onCode, onPasskey }: ProofChoiceProps): ReactNode {
  const texts = useShellTexts().secondFactor;
  const [kind, setKind] = useState<CodeKind | null>(factors.includes('totp') ? 'code' : null);
  const hasRecoveryCodes = factors.includes('recovery_code');
  const canUsePasskey = factors.includes('passkey') && canUsePasskeys;
  return (
    <Stack gap="sm">
      {canUsePasskey && (
        <Button
          variant={kind === null ? 'filled' : 'default'}
          fullWidth
          loading={kind === null && isSending}
          leftSection={<IconFingerprint size={18} aria-hidden />}
          onClick={onPasskey}
        >
          {texts.usePasskey}
        </Button>
      )}
      {(kind === 'code' || (kind === 'recovery_code' && hasRecoveryCodes)) && (
        <CodeForm key={kind} kind={kind} isSending={isSending} onCode={onCode} />
      )}
      {kind === 'recovery_code' && <Text size="sm">{texts.lostHelp}</Text>}
      {factors.includes('totp') && kind !== 'code' && (
        <Anchor component="button" type="button" size="sm" onClick={() => setKind('code')}>
          {texts.useCode}
        </Anchor>
      )}
      {kind !== 'recovery_code' && (
        <Anchor component="button" type="button" size="sm" onClick={() => setKind('recovery_code')}>
          {texts.lost}
        </Anchor>
      )}
    </Stack>
  );
}
