import { Box, Checkbox, MultiSelect, Stack, TagsInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { listChangesFilters } from '../api/filters';
import { uuidPattern } from '../api/ids';
import { ApiProblem } from '../api/problems';
import { changed as hasChanged } from '../api/stale';
import { useEventName } from '../audit/use-event-name';
import { pick } from '../components/drafts/draft';
import { DraftForm } from '../components/drafts/draft-form';
import { useDraft } from '../components/drafts/use-draft';
import { BackLink, NotFoundPage, PageHeader, PageSkeleton, Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { SecretDialog } from '../components/dialogs/secret-dialog';
import { useMe } from '../session/use-me';
import { useValueText } from '../users/use-value-text';
import {
  changeWebhook,
  createWebhook,
  type CreatedWebhook,
  readWebhook,
  type Webhook,
  webhookQuery,
  type WebhookSettings,
} from './data';
import { useWebhooksTexts } from './use-webhooks-texts';

/** Code of a module that verifies the requests of a webhook. */
export const verification = 'new Webhook(secret).verify(body, headers)';

/** Creates a webhook and shows its secret once, or changes the settings of a webhook. */
export function WebhookSettingsPage(): ReactNode {
  const { id } = useParams();
  const texts = useWebhooksTexts();
  const { data: webhook, error } = useQuery({ ...webhookQuery(id ?? ''), enabled: uuidPattern.test(id ?? '') });
  if (id !== undefined && !uuidPattern.test(id)) return <NotFoundPage />;
  if (id !== undefined && webhook === undefined)
    return error === null ? <PageSkeleton /> : <ProblemAlert error={error} />;
  return (
    <Box maw={880}>
      <BackLink to={id === undefined ? '/webhooks' : `/webhooks/${id}`}>{webhook?.url ?? texts.title}</BackLink>
      <PageHeader title={id === undefined ? texts.create : texts.edit} />
      <SettingsForm webhook={webhook} />
    </Box>
  );
}

function SettingsForm({ webhook }: { webhook: Webhook | undefined }): ReactNode {
  const texts = useWebhooksTexts();
  const { user, can } = useMe();
  const nameOf = useEventName();
  const navigate = useNavigate();
  const textOf = useValueText();
  // Kept only in this component: the secret must not enter the query cache.
  const [created, setCreated] = useState<CreatedWebhook | null>(null);
  const draft = useDraft<Webhook | undefined, WebhookSettings>({
    record: webhook,
    valuesOf: settingsOf,
    read: () => readWebhook(webhook?.webhook_id ?? ''),
    save: async ({ base, values, changed }) => {
      if (base === undefined) {
        setCreated(await createWebhook(values));
        return undefined;
      }
      // Webhooks have no version that the service could compare.
      const { updated_at } = await readWebhook(base.webhook_id);
      if (updated_at !== base.updated_at) throw new ApiProblem({ code: 'webhook.changed', status: 412 });
      return changeWebhook(base.webhook_id, pick(values, changed));
    },
    onSaved: async (saved) => {
      await hasChanged('webhooks');
      if (saved !== undefined) await navigate(`/webhooks/${saved.webhook_id}`);
    },
  });
  const { values: settings, set, form } = draft;
  const field = (name: keyof WebhookSettings) => ({ label: texts.fields[name], error: form.errorOf(name) });
  return (
    <DraftForm
      draft={draft}
      names={texts.fields}
      textOf={textOf}
      {...(webhook === undefined ? { submitLabel: texts.create } : {})}
    >
      <Section title={texts.settings}>
        <Stack gap="md" maw={560}>
          <TextInput
            {...field('url')}
            description={texts.hints.url}
            type="url"
            value={settings.url}
            onChange={(event) => set({ url: event.currentTarget.value })}
            required
            maxLength={2_048}
          />
          <TextInput
            {...field('description')}
            value={settings.description ?? ''}
            onChange={({ currentTarget: { value } }) => set({ description: value === '' ? null : value })}
            maxLength={500}
          />
          <MultiSelect
            {...field('type_in')}
            description={texts.hints.type_in}
            data={listChangesFilters.type.choices.map((value) => ({ value, label: nameOf(value) }))}
            value={settings.type_in}
            onChange={(types) => set({ type_in: types })}
            searchable
          />
          {user.user_type === 'system' && (
            <TagsInput
              {...field('carrier_scope')}
              description={texts.hints.carrier_scope}
              data={user.carrier_scope ?? []}
              value={settings.carrier_scope ?? []}
              onChange={(carriers) => set({ carrier_scope: carriers.length === 0 ? null : carriers })}
              splitChars={[',', ' ', ';']}
              maxTags={1_000}
            />
          )}
          {(can('user:read') || settings.include_values) && (
            <Checkbox
              {...field('include_values')}
              description={texts.hints.include_values}
              checked={settings.include_values}
              onChange={(event) => set({ include_values: event.currentTarget.checked })}
            />
          )}
        </Stack>
      </Section>
      <SecretDialog
        value={created?.secret ?? null}
        texts={texts.secret}
        example={verification}
        onDone={() => void navigate(`/webhooks/${created?.webhook_id}`, { replace: true })}
      />
    </DraftForm>
  );
}

function settingsOf(webhook: Webhook | undefined): WebhookSettings {
  return {
    url: webhook?.url ?? '',
    description: webhook?.description ?? null,
    type_in: (webhook?.type_in ?? []) as WebhookSettings['type_in'],
    carrier_scope: webhook?.carrier_scope ?? null,
    include_values: webhook?.include_values ?? false,
  };
}
