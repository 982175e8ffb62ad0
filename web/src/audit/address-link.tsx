import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useMe } from '../session/use-me';

/** Shows an IP address, with a link to what the audit log knows of it. */
export function AddressLink({ ip }: { ip: string }): ReactNode {
  const { can } = useMe();
  if (!can('audit:read')) return ip;
  return (
    <Anchor component={Link} to={`/audit?${new URLSearchParams({ ip })}`} inherit underline="always">
      {ip}
    </Anchor>
  );
}
