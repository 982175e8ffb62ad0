import { Checkbox, Radio, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { apiKeysQuery } from '../../api-keys/data';
import type { Schema } from '../../api/client';
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog';
import { PageSkeleton } from '../../components/page';
import { TimeText } from '../../components/time-text';
import { useMe } from '../../session/use-me';
import { type User, userFactorsQuery } from '../data';
import { useUsersTexts } from '../use-users-texts';

/** What happens to the second factors and API keys of the user. */
export type Decisions = Schema<'SecureUserRequest'>;

interface SecureDialogProps {
  user: User;
  onConfirm: (decisions: Decisions) => Promise<unknown>;
  onClose: () => void;
}

/** Asks which second factors and API keys to keep before the account of a user is secured. */
export function SecureDialog({ user, onConfirm, onClose }: SecureDialogProps): ReactNode {
  const { secure: texts, actions, factors: factorTexts } = useUsersTexts();
  const { can } = useMe();
  const { user_id } = user;
  const [removed, setRemoved] = useState<string[]>([]);
  const [keys, setKeys] = useState<Decisions['keys']>('suspend');
  const factors = useQuery({
    ...userFactorsQuery(user_id),
    enabled: can('user:read'),
  });
  const apiKeys = useQuery({
    ...apiKeysQuery({ created_by: user_id, active: true, count: 'none' }),
    enabled: can('key:manage'),
  });
  const items = factors.data?.items ?? [];
  const names = apiKeys.data?.items.map(({ name }) => name);
  const decide = (): Decisions => {
    if (removed.length === 0) return { factors: 'keep', keys };
    return { factors: removed.length === items.length ? 'remove_all' : removed, keys };
  };
  return (
    <ConfirmDialog
      opened
      isDestructive
      title={actions.secure.title}
      confirmLabel={actions.secure.confirm}
      onConfirm={() => onConfirm(decide())}
      onClose={onClose}
    >
      <Stack gap="md">
        <Text size="sm">{actions.secure.question(user.name)}</Text>
        {(factors.isLoading || apiKeys.isLoading) && <PageSkeleton />}
        {items.length > 0 && (
          <Checkbox.Group
            label={texts.factors}
            description={can('user:reset_factors') ? texts.factorsHint : texts.factorsKept}
            value={removed}
            onChange={setRemoved}
          >
            <Stack gap="xs" mt="xs">
              {items.map(({ factor_id, kind, name, created_at }) => (
                <Checkbox
                  key={factor_id}
                  value={factor_id}
                  disabled={!can('user:reset_factors')}
                  label={
                    <>
                      {texts.remove(name)} ({factorTexts.kind[kind]}, {factorTexts.added}{' '}
                      <TimeText value={created_at} />)
                    </>
                  }
                />
              ))}
            </Stack>
          </Checkbox.Group>
        )}
        {names?.length !== 0 && !apiKeys.isLoading && (
          <Radio.Group
            label={texts.keys}
            description={names?.join(', ') ?? texts.keysUnknown}
            value={keys ?? null}
            onChange={(value) => setKeys(value === 'keep' ? 'keep' : 'suspend')}
          >
            <Stack gap="xs" mt="xs">
              <Radio value="suspend" label={texts.suspendKeys} />
              <Radio value="keep" label={texts.keepKeys} />
            </Stack>
          </Radio.Group>
        )}
      </Stack>
    </ConfirmDialog>
  );
}
