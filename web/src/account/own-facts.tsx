import type { ReactNode } from 'react';
import { Facts } from '../components/facts';
import { TimeText } from '../components/time-text';
import { useMe } from '../session/use-me';
import { useAccountTexts } from './use-account-texts';

/** Shows what users cannot change themselves: user name, carrier, roles and last login. */
export function OwnFacts(): ReactNode {
  const texts = useAccountTexts().facts;
  const { user } = useMe();
  return (
    <Facts
      facts={[
        [texts.name, user.name],
        [texts.carrier, user.carrier_id],
        [texts.roles, user.roles.join(', ') || texts.noRoles],
        [texts.lastLogin, <TimeText key="time" value={user.last_login_at} />],
      ]}
    />
  );
}
