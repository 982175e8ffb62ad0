import { Button, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { api, dataOf } from '../api/client';
import { changed as reload } from '../api/stale';
import { ConfirmDialog } from '../components/dialogs/confirm-dialog';
import { useMe } from '../session/use-me';
import type { Operation } from './data';
import { useOperationsTexts } from './use-operations-texts';

/** Cancels a running operation, or undoes one that has ended. */
export function OperationActions({ operation }: { operation: Operation }): ReactNode {
  const { can } = useMe();
  const { kind, finished_at, undo_until, undone_by, changed } = operation;
  if (finished_at === null) return <CancelButton operation={operation} />;
  if (kind === 'import' && !(can('user:import') && can('user:delete'))) return null;
  return undo_until !== null && undone_by === null && changed > 0 && <UndoButton operation={operation} />;
}

function CancelButton({ operation: { operation_id, kind } }: { operation: Operation }): ReactNode {
  const texts = useOperationsTexts();
  const [isOpen, dialog] = useDisclosure();
  const cancel = async () => {
    await api.POST('/user/operation/{operation_id}/cancel', { params: { path: { operation_id } } });
    await reload('operations');
  };
  return (
    <>
      <Button color="red" variant="light" onClick={dialog.open}>
        {texts.cancel}
      </Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title={texts.cancelTitle}
        confirmLabel={texts.cancelConfirm}
        cancelLabel={texts.keepRunning}
        isDestructive
        onConfirm={cancel}
      >
        <Text size="sm">{kind === 'import' ? texts.cancelImportText : texts.cancelText}</Text>
      </ConfirmDialog>
    </>
  );
}

function UndoButton({ operation: { operation_id, kind, changed } }: { operation: Operation }): ReactNode {
  const texts = useOperationsTexts();
  const navigate = useNavigate();
  const [isOpen, dialog] = useDisclosure();
  const isImport = kind === 'import';
  const undo = async () => {
    const undoing = await dataOf(
      api.POST('/user/operation/{operation_id}/undo', { params: { path: { operation_id } } }),
    );
    await reload('operations');
    await navigate(`/operations/${undoing.operation_id}`);
  };
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        {texts.undo}
      </Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title={texts.undoTitle}
        confirmLabel={isImport ? texts.undoImportConfirm(changed) : texts.undoConfirm(changed)}
        isDestructive={isImport}
        onConfirm={undo}
      >
        <Text size="sm">{isImport ? texts.undoImportText(changed) : texts.undoText(changed)}</Text>
      </ConfirmDialog>
    </>
  );
}
