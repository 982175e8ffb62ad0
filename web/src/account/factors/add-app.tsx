import { Anchor, Code, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api, dataOf, type Schema } from '../../api/client';
import { CopyIcon } from '../../components/copy-button';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { useProblemForm } from '../../components/forms/use-problem-form';
import { CodeForm } from '../../login/code-form';
import classes from '../account.module.css';
import { useAccountTexts } from '../use-account-texts';
import type { Added } from './data';
import { StartForm } from './start-form';

type AddedApp = Schema<'AddedTotpResponse'> & { name: string };

/** Adds an authenticator app: its name, the QR code, and the first code that it shows. */
export function AddApp({ onAdded }: { onAdded: Added }): ReactNode {
  const texts = useAccountTexts();
  const [app, setApp] = useState<AddedApp | null>(null);
  if (app !== null) return <ConfirmApp app={app} onAdded={onAdded} />;
  return (
    <StartForm
      intro={texts.enrolment.appIntro}
      defaultName={texts.factors.totp}
      onStart={async (name, mailCode) => {
        const added = await dataOf(api.POST('/auth/factor/totp', { body: { name, ...mailCode } }));
        setApp({ ...added, name });
      }}
    />
  );
}

function ConfirmApp({ app, onAdded }: { app: AddedApp; onAdded: Added }): ReactNode {
  const texts = useAccountTexts().enrolment;
  const form = useProblemForm(['code']);
  const { factor_id, secret, qr_svg, otpauth_uri, name } = app;
  const confirm = (code: string) =>
    form.submit(async () => {
      const body = { factor_id, code };
      const { recovery_codes } = await dataOf(api.POST('/auth/factor/totp/confirm', { body }));
      await onAdded(name, recovery_codes);
    });
  return (
    <Stack gap="sm">
      <Text size="sm">{texts.scan}</Text>
      <Group gap="md" align="flex-start">
        <img className={classes.qr} alt={texts.qrCode} src={`data:image/svg+xml,${encodeURIComponent(qr_svg)}`} />
        <Anchor href={otpauth_uri} size="sm" hiddenFrom="sm">
          {texts.openApp}
        </Anchor>
      </Group>
      <div>
        <Text size="sm">{texts.orType}</Text>
        <Group gap={4} wrap="nowrap">
          <Code className={classes.text}>{secret.replace(/.{4}(?=.)/g, '$& ')}</Code>
          <CopyIcon value={secret} label={texts.copyKey} />
        </Group>
      </div>
      <ProblemAlert error={form.problem} />
      <CodeForm
        kind="code"
        isSending={form.isSending}
        error={form.errorOf('code') === undefined ? undefined : texts.wrongCode}
        onCode={(proof) => void confirm('code' in proof ? proof.code : '')}
      />
    </Stack>
  );
}
