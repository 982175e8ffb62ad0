import { Button, Group, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { changed } from '../../api/stale';
import { removeBlock } from '../../attacks/data';
import { Dialog, DialogButtons } from '../../components/dialogs/dialog';
import { Form } from '../../components/forms/form';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { useProblemForm } from '../../components/forms/use-problem-form';
import { useMe } from '../../session/use-me';
import { useErrorTexts } from '../../texts/use-error-texts';
import { changeUser, type User } from '../data';
import { type UserAction, useUserActions } from '../actions/use-user-actions';
import { useUsersTexts } from '../use-users-texts';
import type { Cause } from './data';

/**
 * Actions for the remedies of the service. Securing stands at the top of the page; a mailed link
 * voids nothing.
 */
const actionsFor: Partial<Record<Cause['remedies'][number], UserAction[]>> = {
  unlock: ['unlock'],
  enable: ['enable'],
  invite: ['invite'],
  restore: ['restore'],
  secure: ['resetMail'],
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
  const texts = useUsersTexts();
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
        <>
          <Button size="xs" component={Link} to="?tab=data">
            {texts.check.editData}
          </Button>
          {/* Not highlighted: the address can be that of a thief who knows the password. */}
          {ip !== undefined && (
            <Button size="xs" variant="default" onClick={() => void allow(ip).catch(fail)}>
              {texts.check.allow(ip)}
            </Button>
          )}
        </>
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
    <Dialog opened onClose={onClose} title={useUsersTexts().check.correct}>
      <CorrectAddressForm user={user} onClose={onClose} />
    </Dialog>
  );
}

function CorrectAddressForm({ user, onClose }: CorrectAddressProps): ReactNode {
  const { check: texts, create, fields } = useUsersTexts();
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
    <Form onSubmit={send}>
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
    </Form>
  );
}
