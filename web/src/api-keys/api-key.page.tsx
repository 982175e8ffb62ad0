import { Anchor, Box, Button, Group, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBan, IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useParams } from 'react-router';
import { uuidPattern } from '../api/ids';
import { Facts } from '../components/facts';
import { BackLink, NotFoundPage, PageHeader, PageSkeleton, Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { DateText, TimeText } from '../components/time-text';
import { PermissionList } from '../permissions/permission-list';
import { useUserNames } from '../users/use-user-names';
import { ApiKeyScope, ApiKeyStatusBadge } from './api-key-status';
import { type ApiKey, apiKeyQuery } from './data';
import { ResumeButton } from './resume-button';
import { RevokeDialog, useMayRevoke } from './revoke-dialog';
import { RotateDialog, useMayRotate } from './rotate-dialog';
import { useApiKeysTexts } from './use-api-keys-texts';

/** Shows an API key, and lets the user revoke it. */
export function ApiKeyPage(): ReactNode {
  const { id = '' } = useParams();
  const { data: apiKey, error, isPending, refetch } = useQuery({ ...apiKeyQuery(id), enabled: uuidPattern.test(id) });
  if (!uuidPattern.test(id)) return <NotFoundPage />;
  if (isPending) return <PageSkeleton />;
  if (error !== null) return <ProblemAlert error={error} onRetry={() => void refetch()} />;
  return apiKey === undefined ? <NotFoundPage /> : <Details apiKey={apiKey} />;
}

function Details({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const texts = useApiKeysTexts();
  const mayRevoke = useMayRevoke();
  const mayRotate = useMayRotate();
  const [isRevoking, revocation] = useDisclosure();
  const [isRotating, rotation] = useDisclosure();
  const { key_id, name, permissions, created_at, created_by, expires_at, last_used_at, last_used_ip } = apiKey;
  const names = useUserNames([created_by, apiKey.revoked_by]);
  const user = (id: string | null) =>
    id === null || names[id] === undefined ? (
      id
    ) : (
      <Anchor component={Link} to={`/users/${id}`} size="sm">
        {names[id]}
      </Anchor>
    );
  const fact = (field: string, value: ReactNode): [string, ReactNode] => [texts.fields[field] ?? field, value];
  const time = (value: string | null) => value !== null && <TimeText value={value} />;
  return (
    <Box maw={880}>
      <BackLink to="/api-keys">{texts.title}</BackLink>
      <PageHeader
        title={name}
        description={<ApiKeyStatusBadge apiKey={apiKey} />}
        actions={
          mayRevoke(apiKey) && (
            <Group gap="xs">
              {apiKey.suspended_at !== null && <ResumeButton apiKey={apiKey} />}
              {mayRotate(apiKey) && (
                <Button leftSection={<IconRefresh size={16} aria-hidden />} onClick={rotation.open}>
                  {texts.rotate}
                </Button>
              )}
              <Button
                color="red"
                variant="light"
                leftSection={<IconBan size={16} aria-hidden />}
                onClick={revocation.open}
              >
                {texts.revoke}
              </Button>
            </Group>
          )
        }
      />
      <Stack gap="md">
        <Section title={texts.sections.general}>
          <Facts
            facts={[
              [texts.columns.scope, <ApiKeyScope key="scope" apiKey={apiKey} />],
              fact('expires_at', <DateText value={expires_at} />),
              fact('last_used_at', <TimeText value={last_used_at} />),
              fact('last_used_ip', last_used_ip),
              fact('created_at', time(created_at)),
              fact('created_by', user(created_by)),
              ...(apiKey.previous_until === null
                ? []
                : [
                    fact('previous_until', time(apiKey.previous_until)),
                    fact('previous_last_used_at', <TimeText value={apiKey.previous_last_used_at} />),
                  ]),
              ...(apiKey.revoked_at === null
                ? []
                : [fact('revoked_at', time(apiKey.revoked_at)), fact('revoked_by', user(apiKey.revoked_by))]),
              ...(apiKey.suspended_at === null ? [] : [fact('suspended_at', time(apiKey.suspended_at))]),
              fact('key_id', key_id),
            ]}
          />
        </Section>
        <Section title={texts.sections.permissions}>
          <PermissionList permissions={permissions} />
        </Section>
      </Stack>
      <RotateDialog apiKey={isRotating ? apiKey : null} onClose={rotation.close} />
      <RevokeDialog apiKey={isRevoking ? apiKey : null} onClose={revocation.close} />
    </Box>
  );
}
