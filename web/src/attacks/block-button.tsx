import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useState } from 'react';
import { Dialog, DialogButtons } from '../components/dialogs/dialog';
import { Form } from '../components/forms/form';
import { ProblemAlert } from '../components/forms/problem-alert';
import { TimeInput } from '../components/forms/time-input';
import { useProblemForm } from '../components/forms/use-problem-form';
import { useMe } from '../session/use-me';
import { blockNetwork } from './data';
import { useAttacksTexts } from './use-attacks-texts';

const hourMs = 3_600_000;
const hours = { hour: 1, day: 24, week: 7 * 24 };
type Duration = keyof typeof hours | 'other';

/** Returns whether the user may block networks: with the permission, and for all carriers. */
export function useMayBlock(): boolean {
  const { can, user } = useMe();
  return can('address_block:manage') && user.user_type === 'system' && user.carrier_scope === null;
}

/** Offers to block an address or network, if the user may do so. */
export function BlockAddressButton({ ip }: { ip: string }): ReactNode {
  const texts = useAttacksTexts();
  const [isOpen, dialog] = useDisclosure();
  if (!useMayBlock()) return null;
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={dialog.open} aria-label={texts.blockOf(ip)}>
        {texts.block}
      </Button>
      <BlockDialog network={isOpen ? ip : null} onClose={dialog.close} />
    </>
  );
}

/** Blocks a network for some time. `network` = null closes the dialog. */
export function BlockDialog({ network, onClose }: { network: string | null; onClose: () => void }): ReactNode {
  const texts = useAttacksTexts();
  return (
    <Dialog opened={network !== null} onClose={onClose} title={texts.dialogTitle}>
      {network !== null && <BlockForm network={network} onClose={onClose} />}
    </Dialog>
  );
}

function BlockForm({ network: given, onClose }: { network: string; onClose: () => void }): ReactNode {
  const texts = useAttacksTexts();
  const form = useProblemForm(['network', 'expires_at', 'reason']);
  const [network, setNetwork] = useState(given);
  const [reason, setReason] = useState('');
  const [duration, setDuration] = useState<Duration>('day');
  const [time, setTime] = useState('');
  const isOther = duration === 'other';
  const block = async () => {
    const expires_at = isOther ? time : new Date(Date.now() + hours[duration] * hourMs).toISOString();
    const body = { network: network.trim(), expires_at, reason: reason === '' ? null : reason };
    const isBlocked = await form.submit(async () =>
      notifications.show({ message: texts.blocked(await blockNetwork(body)) }),
    );
    if (isBlocked) onClose();
  };
  return (
    <Form onSubmit={block}>
      <Text size="sm">{texts.dialogText}</Text>
      <TextInput
        label={texts.network}
        description={texts.networkHint}
        value={network}
        onChange={(event) => setNetwork(event.currentTarget.value)}
        error={form.errorOf('network')}
        required
        autoComplete="off"
      />
      <Group gap="sm" align="flex-start" grow>
        <NativeSelect
          label={texts.duration}
          value={duration}
          onChange={(event) => setDuration(event.currentTarget.value as Duration)}
          data={Object.entries(texts.durations).map(([value, label]) => ({ value, label }))}
          error={isOther ? undefined : form.errorOf('expires_at') && texts.endRule}
        />
        {isOther && (
          <TimeInput
            label={texts.end}
            value={time}
            onChange={setTime}
            error={form.errorOf('expires_at') && texts.endRule}
            required
          />
        )}
      </Group>
      <TextInput
        label={texts.reason}
        description={texts.reasonHint}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        error={form.errorOf('reason')}
        maxLength={200}
        autoComplete="off"
      />
      <ProblemAlert error={form.problem} />
      <DialogButtons onCancel={onClose} isSending={form.isSending} isDestructive>
        {texts.confirm}
      </DialogButtons>
    </Form>
  );
}
