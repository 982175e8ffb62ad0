import { Button, Divider, PasswordInput, TextInput } from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { isProblem } from '../api/problems';
import { Form } from '../components/forms/form';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { sessionRequests, type SessionTokens } from '../session/session-requests';
import { useShellTexts } from '../texts/use-shell-texts';
import { SecondFactorForm } from './second-factor-form';
import { usePasskeyLogin } from './use-passkey-login';

interface LoginFormProps {
  /** login name of a user who must log in again; without it, the form asks for the name */
  fixedLogin?: string;
  onTokens: (tokens: SessionTokens) => void;
}

interface Challenge {
  challenge: string;
  factors: string[];
}

/** Logs in with a password and, if the user has it, a second factor; or with only a passkey. */
export function LoginForm({ fixedLogin, onTokens }: LoginFormProps): ReactNode {
  const texts = useShellTexts();
  const form = useProblemForm();
  const [login, setLogin] = useState('');
  const [password, setPassword] = useState('');
  const [challenge, setChallenge] = useState<Challenge | null>(null);
  const [hasExpired, setHasExpired] = useState(false);
  const passkeys = usePasskeyLogin(challenge === null, onTokens, form.show);

  if (challenge !== null)
    return (
      <SecondFactorForm
        {...challenge}
        onTokens={onTokens}
        onBack={(expired) => {
          setHasExpired(expired);
          setChallenge(null);
          setPassword('');
        }}
      />
    );

  const send = async () => {
    setHasExpired(false);
    await form.submit(async () => {
      try {
        onTokens(await sessionRequests.login(fixedLogin ?? login.trim(), password));
      } catch (error) {
        if (!isProblem(error, 'auth.second_factor_required')) throw error;
        const { challenge: token, factors } = error.body;
        setChallenge({ challenge: String(token), factors: factors as string[] });
      }
    });
  };
  const sendPasskey = (start: () => Promise<SessionTokens>) => form.submit(async () => onTokens(await start()));
  return (
    <Form onSubmit={send}>
      {hasExpired && <div role="status">{texts.secondFactor.expired}</div>}
      <ProblemAlert error={form.problem} />
      {fixedLogin === undefined ? (
        <TextInput
          label={texts.login.login}
          value={login}
          onChange={(event) => setLogin(event.currentTarget.value)}
          // `webauthn` lets the browser offer passkeys in this field.
          autoComplete="username webauthn"
          autoCapitalize="none"
          spellCheck={false}
          required
          data-autofocus
          autoFocus
        />
      ) : (
        // Tells password managers which user logs in.
        <input type="text" name="username" autoComplete="username" value={fixedLogin} readOnly hidden />
      )}
      <PasswordInput
        label={texts.login.password}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        required
        data-autofocus={fixedLogin !== undefined || undefined}
      />
      <Button type="submit" loading={form.isSending} fullWidth>
        {texts.login.submit}
      </Button>
      {passkeys.start !== null && (
        <>
          <Divider label={texts.login.or} />
          <Button
            variant="default"
            fullWidth
            leftSection={<IconFingerprint size={18} aria-hidden />}
            onClick={() => void (passkeys.start && sendPasskey(passkeys.start))}
          >
            {texts.login.passkey}
          </Button>
        </>
      )}
    </Form>
  );
}
