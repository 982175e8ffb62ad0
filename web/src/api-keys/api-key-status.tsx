import { Badge, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { TimeText } from '../components/time-text';
import { type ApiKey, statusOf } from './data';
import { useApiKeysTexts } from './use-api-keys-texts';

const colors = { active: 'green', expiring: 'yellow', expired: 'gray', suspended: 'orange', revoked: 'gray' };

/** Shows the state of an API key. */
export function ApiKeyStatusBadge({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const texts = useApiKeysTexts();
  const status = statusOf(apiKey);
  return (
    <Badge variant="light" color={colors[status]}>
      {texts.status[status]}
    </Badge>
  );
}

/** Shows until when the old secret of a rotated API key works, and when it was last used. */
export function OldSecret({ apiKey: { previous_until, previous_last_used_at } }: { apiKey: ApiKey }): ReactNode {
  const texts = useApiKeysTexts();
  if (previous_until === null) return null;
  return (
    <Text size="xs" c="dimmed" mt={2}>
      {texts.oldSecret} <TimeText value={previous_until} />
      {', '}
      {previous_last_used_at === null ? (
        texts.oldUnused
      ) : (
        <>
          {texts.oldUsed} <TimeText value={previous_last_used_at} />
        </>
      )}
    </Text>
  );
}

/** Names the carriers that an API key reaches. */
export function ApiKeyScope({ apiKey: { carrier_id, carrier_scope } }: { apiKey: ApiKey }): ReactNode {
  const texts = useApiKeysTexts();
  if (carrier_id !== null) return carrier_id;
  if (carrier_scope === null) return texts.allCarriers;
  return carrier_scope.length === 0 ? texts.noCarriers : carrier_scope.join(', ');
}
