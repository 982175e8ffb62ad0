import { useMe } from '../session/use-me';

/** Returns a function that links an hour to its logins in the audit log, if the user may see it. */
export function useHourLink(): ((hour: string) => string) | undefined {
  const { can } = useMe();
  if (!can('audit:read')) return undefined;
  return (hour) => {
    const end = new Date(Date.parse(hour) + 3_600_000).toISOString();
    const event_type_in = 'login.succeeded,login.failed';
    return `/audit?${new URLSearchParams({ event_type_in, occurred_at_gte: hour, occurred_at_lt: end })}`;
  };
}
