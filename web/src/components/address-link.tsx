import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useMe } from '../session/use-me';

/** Links an address to its events, for users who may read the audit log. */
export function AddressLink({ ip }: { ip: string }): ReactNode {
  const { can } = useMe();
  if (!can('audit:read')) return ip;
  return (
    <Anchor component={Link} to={`/audit?${new URLSearchParams({ ip })}`} inherit>
      {ip}
    </Anchor>
  );
}
