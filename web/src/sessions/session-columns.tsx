import { Anchor, Badge, Group, Text } from '@mantine/core';
import {
  IconDeviceDesktop,
  IconDeviceMobile,
  IconDeviceTablet,
  IconDeviceTv,
  IconTerminal2,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schema } from '../api/client';
import { AddressLink } from '../components/address-link';
import { CutText } from '../components/lists/cut-text';
import type { Column } from '../components/lists/stacked-rows';
import { TimeText } from '../components/time-text';
import { useMe } from '../session/use-me';
import classes from './sessions.module.css';
import { useSessionsTexts } from './use-sessions-texts';

/** A session of the API. */
export type Session = Schema<'SessionResponse'>;

const icons = {
  desktop: IconDeviceDesktop,
  mobile: IconDeviceMobile,
  tablet: IconDeviceTablet,
  tv: IconDeviceTv,
  bot: IconTerminal2,
};

/** Returns a function that names the device of a session, such as "Chrome 130 on macOS". */
export function useDeviceName(): (session: Session) => string {
  const texts = useSessionsTexts();
  return ({ browser, os, user_agent }) =>
    browser !== null && os !== null ? texts.on(browser, os) : (browser ?? os ?? user_agent ?? texts.unknownDevice);
}

/** Returns the columns of a list of sessions. `withUser` adds the user. */
export function useSessionColumns(
  withUser: boolean,
): Record<'user' | 'device' | 'ip' | 'login' | 'seen' | 'state', Column<Session>> {
  const texts = useSessionsTexts();
  const deviceOf = useDeviceName();
  const { can } = useMe();
  const { fields } = texts;
  return {
    user: {
      key: 'name',
      title: fields.user_id,
      render: ({ user_id, name, carrier_id, current }) => (
        <div>
          <Group gap={6} component="span">
            {can('user:read') ? (
              <Anchor component={Link} to={`/users/${user_id}`} inherit fw={500}>
                <CutText>{name}</CutText>
              </Anchor>
            ) : (
              name
            )}
            {current && withUser && <CurrentBadge />}
          </Group>
          <Text size="xs" c="dimmed" component="div" fw={400}>
            <CutText>{carrier_id ?? texts.userType.system}</CutText>
          </Text>
        </div>
      ),
    },
    device: {
      key: 'device',
      title: fields.device,
      render: (session) => (
        <div className={classes.device}>
          <DeviceIcon device={session.device} />
          <CutText title={session.user_agent ?? deviceOf(session)}>{deviceOf(session)}</CutText>
          {session.current && !withUser && <CurrentBadge />}
        </div>
      ),
    },
    ip: {
      key: 'ip',
      title: fields.ip,
      render: ({ ip }) => (
        <span className={classes.address}>{ip === null ? texts.unknownAddress : <AddressLink ip={ip} />}</span>
      ),
    },
    login: {
      key: 'created_at',
      title: fields.created_at,
      sortable: true,
      render: ({ created_at, amr }) => (
        <>
          <TimeText value={created_at} />
          {amr.includes('mfa') && (
            <Text size="xs" c="dimmed" component="div">
              {texts.twoFactors}
            </Text>
          )}
        </>
      ),
    },
    seen: {
      key: 'last_seen_at',
      title: fields.last_seen_at,
      sortable: true,
      render: ({ last_seen_at }) => <TimeText value={last_seen_at} />,
    },
    state: {
      key: 'ended',
      title: fields.ended,
      render: ({ session_id, active, ended_at, ended_reason }) =>
        active ? (
          <Badge variant="light" color="green">
            {texts.live}
          </Badge>
        ) : (
          <>
            <TimeText value={ended_at} />
            <Text size="xs" c="dimmed" component="div">
              {ended_reason !== null && <EventsLink session_id={session_id}>{texts.reason[ended_reason]}</EventsLink>}
            </Text>
          </>
        ),
    },
  };
}

/** Links the reason of an end to its event, which names the actor. */
function EventsLink({ session_id, children }: { session_id: string; children: string }): ReactNode {
  const { can } = useMe();
  if (!can('audit:read')) return children;
  return (
    <Anchor component={Link} to={`/audit?${new URLSearchParams({ target_id: session_id })}`} inherit>
      {children}
    </Anchor>
  );
}

function CurrentBadge(): ReactNode {
  return (
    <Badge variant="light" size="sm">
      {useSessionsTexts().thisSession}
    </Badge>
  );
}

function DeviceIcon({ device }: { device: string | null }): ReactNode {
  const Icon = icons[(device ?? 'bot') as keyof typeof icons] ?? IconTerminal2;
  return <Icon size={18} aria-hidden />;
}
