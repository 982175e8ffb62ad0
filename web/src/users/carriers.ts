import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useMe } from '../session/use-me';
import { carriersQuery } from './data';

/** Maximum number of suggested carriers. */
const suggestedMax = 500;
/** Milliseconds without a key after which the typed carrier is looked up. */
const lookUpAfterMs = 300;

/**
 * Returns the carriers that have users, by name, or none without `user:read`.
 * @param suggests whether to load them
 */
export function useCarriers(suggests = true): string[] {
  const { user, can } = useMe();
  const { data } = useQuery({
    ...carriersQuery({ per_page: suggestedMax }),
    enabled: suggests && can('user:read') && user.user_type === 'system',
    staleTime: 300_000,
  });
  return data?.items.map(({ carrier_id }) => carrier_id) ?? [];
}

/** Returns whether a typed carrier has no users yet. False until the service has answered. */
export function useIsNewCarrier(typed: string): boolean {
  const { user, can } = useMe();
  const [carrier_id] = useDebouncedValue(typed.trim(), lookUpAfterMs);
  const { data } = useQuery({
    ...carriersQuery({ carrier_id, per_page: 1 }),
    enabled: can('user:read') && user.user_type === 'system' && carrier_id !== '',
  });
  return carrier_id === typed.trim() && data?.items.length === 0;
}
