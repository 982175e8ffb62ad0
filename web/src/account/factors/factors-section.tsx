import { Alert, Button, Group, Skeleton, Text } from '@mantine/core';
import { IconAlertTriangle, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Section } from '../../components/page';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { canUsePasskeys } from '../../login/passkeys';
import { useMe } from '../../session/use-me';
import { useLanguage } from '../../texts/language';
import { useAccountTexts } from '../use-account-texts';
import { AddFactorDialog } from './add-factor-dialog';
import { type FactorKind, factorsQuery } from './data';
import { FactorRow } from './factor-row';
import { RecoveryCodesRow } from './recovery-codes-row';

const skeletonHeight = 96;

/** Lists, adds, renames and removes the user's second factors, and renews recovery codes. */
export function FactorsSection(): ReactNode {
  const texts = useAccountTexts().factors;
  const { data, error, refetch } = useQuery(factorsQuery());
  const [adding, setAdding] = useState<FactorKind | null>(null);
  const factors = data?.items.filter(({ confirmed }) => confirmed) ?? [];
  return (
    <Section title={texts.title} description={texts.description}>
      <RequiredFrom hasFactor={factors.length > 0} />
      <ProblemAlert error={error} onRetry={() => void refetch()} />
      {data === undefined && error === null && <Skeleton height={skeletonHeight} />}
      {data !== undefined && factors.length === 0 && (
        <Text size="sm" pb="xs">
          {texts.none}
        </Text>
      )}
      {factors.map((factor) => (
        <FactorRow key={factor.factor_id} factor={factor} isLast={factors.length === 1} />
      ))}
      {data !== undefined && factors.length > 0 && <RecoveryCodesRow left={data.recovery_codes_left} />}
      {data !== undefined && (
        <Group mt="md" gap="xs">
          <Button
            variant="default"
            px="sm"
            leftSection={<IconPlus size={16} aria-hidden />}
            onClick={() => setAdding('totp')}
          >
            {texts.addTotp}
          </Button>
          {canUsePasskeys && (
            <Button
              variant="default"
              px="sm"
              leftSection={<IconPlus size={16} aria-hidden />}
              onClick={() => setAdding('passkey')}
            >
              {texts.addPasskey}
            </Button>
          )}
        </Group>
      )}
      {!canUsePasskeys && (
        <Text size="sm" c="dimmed" mt="xs">
          {texts.noPasskeys}
        </Text>
      )}
      <AddFactorDialog kind={adding} onClose={() => setAdding(null)} />
    </Section>
  );
}

/** Warns from when the user needs a second factor. */
function RequiredFrom({ hasFactor }: { hasFactor: boolean }): ReactNode {
  const texts = useAccountTexts().factors;
  const language = useLanguage();
  const { second_factor_required_from: from } = useMe().user;
  if (from === null || hasFactor) return null;
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'long' }).format(new Date(from));
  return (
    <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />} mb="sm">
      {texts.requiredFrom(date)}
    </Alert>
  );
}
