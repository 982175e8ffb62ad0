import { Box, Button, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { api, dataOf } from '../api/client';
import { changed } from '../api/stale';
import { Form } from '../components/forms/form';
import { BackLink, FormActions, PageHeader, Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { SecretDialog } from '../components/dialogs/secret-dialog';
import { useProblemForm } from '../components/forms/use-problem-form';
import { PermissionPicker } from '../permissions/permission-picker';
import { useMe } from '../session/use-me';
import { type Expiry, ExpiryFields, expiryTime } from './expiry-fields';
import { ScopeFields } from './scope-fields';
import { useApiKeysTexts } from './use-api-keys-texts';

/** Creates an API key, and shows it once. */
export function CreateApiKeyPage(): ReactNode {
  const texts = useApiKeysTexts();
  const navigate = useNavigate();
  const { user } = useMe();
  const isSystem = user.user_type === 'system';
  const form = useProblemForm(['name', 'permissions', 'expires_at', ...(isSystem ? ['carrier_scope'] : [])]);
  const [name, setName] = useState('');
  const [permissions, setPermissions] = useState<string[]>([]);
  const [isPrefixMeant, setIsPrefixMeant] = useState(false);
  const [expiry, setExpiry] = useState<Expiry>({ choice: 'days90', time: '' });
  const [scope, setScope] = useState<string[] | null>(user.carrier_scope);
  const [isChecked, setIsChecked] = useState(false);
  // Kept only in this component: the key must not enter the query cache.
  const [key, setKey] = useState<string | null>(null);
  // The API accepts an empty list, which allows no carrier. Such a key is useless, so require one.
  const isScopeMissing = scope !== null && scope.length === 0;
  const missing = (isMissing: boolean, text: string) => (isChecked && isMissing ? text : undefined);
  const create = async () => {
    setIsChecked(true);
    if (permissions.length === 0 || isScopeMissing) return;
    const body = { name, permissions, expires_at: expiryTime(expiry), ...(isSystem ? { carrier_scope: scope } : {}) };
    const params = { query: { new_prefix: isPrefixMeant } };
    await form.submit(async () => setKey((await dataOf(api.POST('/auth/key/create', { params, body }))).key));
    await changed('api-keys');
  };
  return (
    <Box maw={880}>
      <BackLink to="/api-keys">{texts.title}</BackLink>
      <PageHeader title={texts.createTitle} />
      <Form onSubmit={create}>
        <Section title={texts.sections.general}>
          <Stack gap="md">
            <TextInput
              label={texts.name}
              description={texts.nameHint}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={form.errorOf('name')}
              required
              maxLength={100}
              autoComplete="off"
              maw={420}
            />
            <ExpiryFields value={expiry} onChange={setExpiry} error={form.errorOf('expires_at') && texts.expiryRule} />
          </Stack>
        </Section>
        <Section title={texts.sections.permissions}>
          <Text size="sm" c="dimmed" mb="sm">
            {texts.permissionsHint}
          </Text>
          <PermissionPicker
            value={permissions}
            onChange={setPermissions}
            error={missing(permissions.length === 0, texts.permissionsRequired) ?? form.errorOf('permissions')}
            newPrefix={{
              fault: form.fieldErrorOf('permissions'),
              isMeant: isPrefixMeant,
              onMean: setIsPrefixMeant,
            }}
          />
        </Section>
        {isSystem && (
          <Section title={texts.sections.scope}>
            <ScopeFields
              value={scope}
              onChange={setScope}
              error={missing(isScopeMissing, texts.carriersRequired) ?? form.errorOf('carrier_scope')}
            />
          </Section>
        )}
        <ProblemAlert error={form.problem} />
        <FormActions>
          <Button type="submit" loading={form.isSending}>
            {texts.create}
          </Button>
        </FormActions>
      </Form>
      <SecretDialog
        value={key}
        texts={texts.created}
        example="Authorization: Bearer cik_…"
        onDone={() => void navigate('/api-keys', { replace: true })}
      />
    </Box>
  );
}
