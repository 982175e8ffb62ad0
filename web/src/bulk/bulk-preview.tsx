import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { ConfirmDialog } from '../components/dialogs/confirm-dialog';
import { type Figure, Figures } from '../components/facts';
import { Section } from '../components/page';
import { durationText } from '../components/time-text';
import { SkippedUsers } from '../operations/skipped-users';
import { useLanguage } from '../texts/language';
import { BulkQuestion } from './bulk-question';
import { actionOf, isFinal } from './change';
import type { BulkRequest, Preview } from './data';
import { SampleUsers } from './sample-users';
import { useBulkTexts } from './use-bulk-texts';

interface BulkPreviewProps {
  preview: Preview;
  request: BulkRequest;
  /** whether the preview replaced an older one because the users changed */
  isRenewed: boolean;
  onConfirm: () => Promise<void>;
}

/** Shows what a bulk change would do, and applies it after a confirmation. */
export function BulkPreview({ preview, request, isRenewed, onConfirm }: BulkPreviewProps): ReactNode {
  const texts = useBulkTexts();
  const language = useLanguage();
  const [isOpen, dialog] = useDisclosure();
  const kind = actionOf(request);
  const { matched, would_change, unchanged, skipped_count, sample, mails, mails_seconds } = preview;
  const figures: Figure[] = [
    { label: texts.figures.matched, value: matched },
    { label: texts.would[kind], value: would_change },
    ...(kind === 'change' || kind === 'disable' ? [{ label: texts.figures.unchanged, value: unchanged }] : []),
    { label: texts.figures.skipped, value: skipped_count, needsAttention: true },
    ...(request.change?.secure === true
      ? (['with_factors', 'with_keys'] as const).map((name) => ({
          label: texts.figures[name],
          value: preview[name],
          needsAttention: true,
        }))
      : []),
  ];
  return (
    <Section title={texts.result} isRevealed>
      <Stack gap="md">
        {isRenewed && (
          <Alert color="orange" variant="light" role="alert">
            {texts.changed}
          </Alert>
        )}
        <Figures figures={figures} />
        {mails > 0 && <Text size="sm">{texts.mails(mails, durationText(mails_seconds, language))}</Text>}
        {would_change > 0 && (
          <Group>
            <Button onClick={dialog.open} color={kind === 'delete' || kind === 'disable' ? 'red.9' : undefined}>
              {texts.submit[kind](would_change)}
            </Button>
          </Group>
        )}
        {would_change === 0 ? (
          <Text role="status">{texts.nothing}</Text>
        ) : (
          <div>
            <Text size="sm" fw={600} mb={4}>
              {texts.sample(sample.length.toLocaleString(language), would_change.toLocaleString(language))}
            </Text>
            <SampleUsers users={sample} change={isFinal(request.change) ? null : request.change} />
          </div>
        )}
        {skipped_count > 0 && (
          <div>
            <Text size="sm" fw={600} mb={4}>
              {texts.skipped}
            </Text>
            <SkippedUsers counts={preview} />
          </div>
        )}
      </Stack>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title={texts.confirmTitle[kind](would_change)}
        confirmLabel={texts.confirmLabel[kind]}
        isDestructive={kind === 'delete'}
        typedConfirmation={String(would_change)}
        onConfirm={onConfirm}
      >
        <BulkQuestion request={request} />
      </ConfirmDialog>
    </Section>
  );
}
