import { Skeleton } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { lazyPart } from '../../components/boundary';
import { Dialog } from '../../components/dialogs/dialog';
import { useIsPhone } from '../../components/use-is-phone';
import { useUsersTexts } from '../use-users-texts';

const CreateUserForm = lazyPart(async () => (await import('./create-user-form')).CreateUserForm);

/** Asks for a new user. A click beside the dialog does not discard what was typed. */
export function CreateUserDialog({ opened, onClose }: { opened: boolean; onClose: () => void }): ReactNode {
  const texts = useUsersTexts().create;
  const isPhone = useIsPhone();
  return (
    <Dialog
      opened={opened}
      onClose={onClose}
      closeOnClickOutside={false}
      title={texts.title}
      size="lg"
      fullScreen={isPhone}
    >
      <Suspense fallback={<Skeleton height={360} />}>
        <CreateUserForm onClose={onClose} />
      </Suspense>
    </Dialog>
  );
}
