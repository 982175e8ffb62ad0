import { ActionIcon, Button, Menu, NativeSelect, Stack, Text } from '@mantine/core';
import { IconDotsVertical } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { changed } from '../api/stale';
import { ConfirmDialog } from '../components/dialogs/confirm-dialog';
import { SecretDialog } from '../components/dialogs/secret-dialog';
import { TimeInput } from '../components/forms/time-input';
import { type Webhook, webhookActions } from './data';
import { SendButton } from './send-button';
import { webhooksTexts as en } from './texts.en';
import { useWebhooksTexts } from './use-webhooks-texts';
import { verification } from './webhook-settings.page';

type Action = keyof (typeof en)['actions'];

/** Actions that a state offers in the menu. */
const inMenu: Record<Webhook['state'], Action[]> = {
  active: ['replay', 'rotate', 'disable', 'remove'],
  failing: ['replay', 'rotate', 'disable', 'remove'],
  disabled: ['rotate', 'remove'],
};

/** Shows the actions on a webhook. All but the test ask before they take effect. */
export function WebhookActions({ webhook: { webhook_id, state } }: { webhook: Webhook }): ReactNode {
  const texts = useWebhooksTexts();
  const navigate = useNavigate();
  const [action, setAction] = useState<Action | null>(null);
  const [after, setAfter] = useState('');
  const [keep, setKeep] = useState('86400');
  const [secret, setSecret] = useState<string | null>(null);
  const next = ({ active: null, failing: 'skip', disabled: 'enable' } as const)[state];
  const actions = webhookActions(webhook_id);
  const send: Record<Action, () => Promise<unknown>> = {
    ...actions,
    enable: () => actions.enable(after === '' ? {} : { after }),
    replay: () => actions.replay(after),
    rotate: async () => setSecret(await actions.rotate(Number(keep))),
    remove: async () => {
      await actions.remove();
      await navigate('/webhooks', { replace: true });
      await changed('webhooks');
    },
  };
  return (
    <>
      {state !== 'disabled' && <SendButton send={actions.test}>{texts.test}</SendButton>}
      {next !== null && (
        <Button variant="default" onClick={() => setAction(next)}>
          {texts.actions[next][0]}
        </Button>
      )}
      <Menu position="bottom-end" portalProps={{ target: '#content' }}>
        <Menu.Target>
          <ActionIcon variant="default" size="input-sm" aria-label={texts.more}>
            <IconDotsVertical size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component={Link} to={`/webhooks/${webhook_id}/edit`}>
            {texts.edit}
          </Menu.Item>
          {inMenu[state].map((one) => (
            <Menu.Item key={one} onClick={() => setAction(one)}>
              {texts.actions[one][0]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {action !== null && (
        <ConfirmDialog
          opened
          title={texts.actions[action][0] ?? ''}
          confirmLabel={texts.actions[action][0] ?? ''}
          isDestructive={action === 'remove'}
          onConfirm={send[action]}
          onClose={() => setAction(null)}
        >
          <Stack gap="sm">
            <Text size="sm">{texts.actions[action][1]}</Text>
            {(action === 'enable' || action === 'replay') && (
              <TimeInput label={texts.after} required={action === 'replay'} value={after} onChange={setAfter} />
            )}
            {action === 'rotate' && (
              <NativeSelect
                label={texts.keep}
                value={keep}
                onChange={(event) => setKeep(event.currentTarget.value)}
                data={Object.entries(texts.keepFor).map(([value, label]) => ({ value, label }))}
              />
            )}
          </Stack>
        </ConfirmDialog>
      )}
      <SecretDialog value={secret} texts={texts.secret} example={verification} onDone={() => setSecret(null)} />
    </>
  );
}
