import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../texts/language';
import { type ApiKey, statusOf } from './api-key';
import { apiKeysTexts as de } from './texts.de';
import { apiKeysTexts as en } from './texts.en';

const colors = { active: 'green', expiring: 'yellow', expired: 'gray', suspended: 'orange', revoked: 'gray' };

/** Shows the state of an API key. */
export function ApiKeyStatusBadge({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const texts = useTexts({ en, de });
  const status = statusOf(apiKey);
  return (
    <Badge variant="light" color={colors[status]}>
      {texts.status[status]}
    </Badge>
  );
}

/** Names the carriers that an API key reaches. */
export function ApiKeyScope({ apiKey: { carrier_id, carrier_scope } }: { apiKey: ApiKey }): ReactNode {
  const texts = useTexts({ en, de });
  if (carrier_id !== null) return carrier_id;
  if (carrier_scope === null) return texts.allCarriers;
  return carrier_scope.length === 0 ? texts.noCarriers : carrier_scope.join(', ');
}
