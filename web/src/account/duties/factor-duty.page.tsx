import { Anchor, Stack, Text, UnstyledButton } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { canUsePasskeys } from '../../login/passkeys';
import classes from '../account.module.css';
import { Enrolment } from '../factors/enrolment';
import { FactorIcon } from '../factors/factor-icon';
import type { FactorKind } from '../factors/data';
import { useAccountTexts } from '../use-account-texts';
import { DutyFrame } from './duty-frame';

interface FactorDutyPageProps {
  onCodes: () => void;
  onDone: () => void;
}

/** Lets the user set up the second factor that they need. Then the console appears. */
export function FactorDutyPage({ onCodes, onDone }: FactorDutyPageProps): ReactNode {
  const texts = useAccountTexts();
  const [kind, setKind] = useState<FactorKind | null>(null);
  const [hasCodes, setHasCodes] = useState(false);
  if (kind === null)
    return (
      <DutyFrame title={texts.duties.factorTitle} text={texts.duties.factorText}>
        <Stack gap="xs">
          <Choice kind="totp" text={texts.duties.totpText} onChoose={setKind} />
          {canUsePasskeys && <Choice kind="passkey" text={texts.duties.passkeyText} onChoose={setKind} />}
        </Stack>
      </DutyFrame>
    );
  const title = kind === 'totp' ? texts.factors.addTotp : texts.factors.addPasskey;
  return (
    <DutyFrame title={hasCodes ? texts.codes.title : title}>
      <Enrolment
        kind={kind}
        onCodes={() => {
          setHasCodes(true);
          onCodes();
        }}
        onDone={onDone}
      />
      {!hasCodes && (
        <Anchor component="button" type="button" size="sm" ta="start" onClick={() => setKind(null)}>
          {texts.enrolment.back}
        </Anchor>
      )}
    </DutyFrame>
  );
}

interface ChoiceProps {
  kind: FactorKind;
  text: string;
  onChoose: (kind: FactorKind) => void;
}

function Choice({ kind, text, onChoose }: ChoiceProps): ReactNode {
  const texts = useAccountTexts().factors;
  return (
    <UnstyledButton className={classes.choice} onClick={() => onChoose(kind)}>
      <span className={classes.icon}>
        <FactorIcon kind={kind} />
      </span>
      <span>
        <Text span fw={600} size="sm" display="block">
          {texts[kind]}
        </Text>
        <Text span size="sm" c="dimmed">
          {text}
        </Text>
      </span>
    </UnstyledButton>
  );
}
