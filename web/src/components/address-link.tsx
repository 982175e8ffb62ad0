import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useMe } from '../session/use-me';

interface AddressLinkProps {
  ip: string;
  /** whether the address is part of a sentence, so that its color alone does not show the link */
  isInText?: boolean;
}

/** Links an address to its events, for users who may read the audit log. */
export function AddressLink({ ip, isInText = false }: AddressLinkProps): ReactNode {
  const { can } = useMe();
  if (!can('audit:read')) return ip;
  return (
    <Anchor
      component={Link}
      to={`/audit?${new URLSearchParams({ ip })}`}
      inherit
      underline={isInText ? 'always' : 'hover'}
    >
      {ip}
    </Anchor>
  );
}
