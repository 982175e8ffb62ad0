import { Button, Group, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { changed } from '../../api/stale';
import { removeBlock } from '../../attacks/data';
import { Dialog, DialogButtons } from '../../components/dialog';
import { ProblemAlert } from '../../components/problem-alert';
import { useProblemForm } from '../../components/use-problem-form';
import { useMe } from '../../session/use-me';
import { useTexts } from '../../texts/language';
import { useErrorTexts } from '../../texts/use-error-texts';
import { usersTexts as de } from '../texts.de';
import { usersTexts as en } from '../texts.en';
import { changeUser, type User } from '../user';
import { type UserAction, useUserActions } from '../use-user-actions';
import type { Cause } from './login-data';

/** Actions for the remedies of the service. A mailed link voids nothing, so it comes first. */
const actionsFor: Partial<Record<Cause['remedies'][number], UserAction[]>> = {
  unlock: ['unlock'],
  enable: ['enable'],
  invite: ['invite'],
  restore: ['restore'],
  secure: ['resetMail', 'secure'],
};

interface RemediesProps {
  user: User;
  cause: Pick<Cause, 'remedies' | 'evidence'>;
  /** actions without a cause, such as a link for a forgotten password */
  extra?: UserAction[];
  /** whether a mail to the user failed: the address comes first */
  mailFailed?: boolean;
}

/** Shows the remedies that the caller may use, each as one button, and highlights the first. */
export function Remedies({ user, cause, extra = [], mailFailed = false }: RemediesProps): ReactNode {
  const texts = useTexts({ en, de });
  const { can } = useMe();
  const { textOf } = useErrorTexts();
  const actions = useUserActions(user);
  const [isCorrecting, setIsCorrecting] = useState(false);
  const { remedies, evidence } = cause;
  const mayUpdate = can('user:update') && user.deleted_at === null;
  const ip = evidence?.ip;
  const allow = async (address: string) => {
    await changeUser(user, { allowed_ips: [...user.allowed_ips, address] });
    notifications.show({ message: texts.check.allowed(address) });
    await changed('users');
  };
  const unblock = async ({ address_block_id = '', network = '' }) => {
    await removeBlock(address_block_id);
    notifications.show({ message: texts.check.unblocked(network) });
  };
  const fail = (error: unknown) => notifications.show({ color: 'red', message: textOf(error) });
  const correct = mayUpdate &&
    remedies.includes('correct_email') && { label: texts.check.correct, onClick: () => setIsCorrecting(true) };
  const offers = [
    mailFailed && correct,
    ...[...remedies.flatMap((remedy) => actionsFor[remedy] ?? []), ...extra]
      .filter(actions.mayDo)
      .map((action) => ({ label: texts.actions[action].label, onClick: () => actions.start(action) })),
    !mailFailed && correct,
    mayUpdate &&
      remedies.includes('change_allowed_ips') &&
      ip !== undefined && { label: texts.check.allow(ip), onClick: () => void allow(ip).catch(fail) },
    // Absent if the caller may not remove the block.
    evidence?.address_block_id !== undefined &&
      remedies.includes('remove_address_block') && {
        label: texts.check.unblock,
        onClick: () => void unblock(evidence).catch(fail),
      },
  ].filter((offer) => offer !== false);
  return (
    <Group gap="xs">
      {offers.map(({ label, onClick }, index) => (
        <Button key={label} size="xs" variant={index === 0 ? 'filled' : 'default'} onClick={onClick}>
          {label}
        </Button>
      ))}
      {mayUpdate && remedies.includes('change_allowed_ips') && (
        <Button size="xs" variant="default" component={Link} to="?tab=data">
          {texts.check.editData}
        </Button>
      )}
      {actions.dialog}
      {isCorrecting && <CorrectAddress user={user} onClose={() => setIsCorrecting(false)} />}
    </Group>
  );
}

interface CorrectAddressProps {
  user: User;
  onClose: () => void;
}

/** Corrects the address of a user, which mails an invitation or a link to confirm the address. */
function CorrectAddress({ user, onClose }: CorrectAddressProps): ReactNode {
  return (
    <Dialog opened onClose={onClose} title={useTexts({ en, de }).check.correct}>
      <CorrectAddressForm user={user} onClose={onClose} />
    </Dialog>
  );
}

function CorrectAddressForm({ user, onClose }: CorrectAddressProps): ReactNode {
  const { check: texts, create, fields } = useTexts({ en, de });
  const form = useProblemForm(['email']);
  const [email, setEmail] = useState(user.email_pending ?? user.email);
  const address = email.trim();
  const isInvited = user.status === 'invited';
  const send = async () => {
    if (!(await form.submit(() => changeUser(user, { email: address })))) return;
    notifications.show({ message: isInvited ? create.invited(address) : texts.confirming(address) });
    onClose();
    await changed('users');
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Stack gap="md">
        <TextInput
          label={fields.email}
          description={isInvited ? texts.correctInvited : texts.correctActive}
          type="email"
          autoComplete="off"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={form.errorOf('email')}
          data-autofocus
        />
        <ProblemAlert error={form.problem} />
        <DialogButtons onCancel={onClose} isSending={form.isSending} disabled={address === user.email}>
          {texts.correctAndSend}
        </DialogButtons>
      </Stack>
    </form>
  );
}
