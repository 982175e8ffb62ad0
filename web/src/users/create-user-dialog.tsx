import { Modal, Skeleton } from '@mantine/core';
import { lazy, type ReactNode, Suspense } from 'react';
import { useIsPhone } from '../components/use-is-phone';
import { useTexts } from '../texts/language';
import { useShellTexts } from '../texts/use-shell-texts';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';

// Loaded when it is needed, so that the first load of the list stays small.
const CreateUserForm = lazy(async () => ({ default: (await import('./create-user-form')).CreateUserForm }));

/** Asks for a new user. A click beside the dialog does not discard what was typed. */
export function CreateUserDialog({ opened, onClose }: { opened: boolean; onClose: () => void }): ReactNode {
  const texts = useTexts({ en, de }).create;
  const { close } = useShellTexts();
  const isPhone = useIsPhone();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      closeOnClickOutside={false}
      title={texts.title}
      size="lg"
      fullScreen={isPhone}
      closeButtonProps={{ 'aria-label': close }}
    >
      <Suspense fallback={<Skeleton height={360} />}>
        <CreateUserForm onClose={onClose} />
      </Suspense>
    </Modal>
  );
}
