import { Anchor, Drawer, Group, Stack, Table, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { AddressLink } from '../components/address-link';
import { BlockAddressButton } from '../attacks/block-button';
import { CopyIcon } from '../components/copy-button';
import { Facts } from '../components/facts';
import { operationPermissions } from '../operations/permissions';
import { useMe } from '../session/use-me';
import { useFormats } from '../texts/formats';
import { useShellTexts } from '../texts/use-shell-texts';
import classes from './audit.module.css';
import { useChanges } from './changes';
import type { AuditEvent, Names } from './data';
import { ActorText, OperationText, sessionPath, TargetText } from './event-parties';
import { useAuditTexts } from './use-audit-texts';
import { useEventName } from './use-event-name';

interface EventDetailsProps {
  event: AuditEvent | null;
  names: Names;
  onClose: () => void;
}

/** Shows all data of an event beside the list. */
export function EventDetails({ event, names, onClose }: EventDetailsProps): ReactNode {
  const nameOf = useEventName();
  const { close } = useShellTexts();
  return (
    <Drawer
      opened={event !== null}
      onClose={onClose}
      position="right"
      size="lg"
      title={event !== null && nameOf(event.event_type)}
      closeButtonProps={{ 'aria-label': close }}
      // Otherwise its `header` element would be a second banner of the page.
      attributes={{ header: { role: 'presentation' } }}
    >
      {event !== null && (
        <Stack gap="lg">
          <EventFacts event={event} names={names} onLeave={onClose} />
          <Changes changes={event.changes} />
        </Stack>
      )}
    </Drawer>
  );
}

function EventFacts({ event, names, onLeave }: { event: AuditEvent; names: Names; onLeave: () => void }): ReactNode {
  const texts = useAuditTexts();
  const { full } = useFormats();
  const { can, canAny } = useMe();
  const { fields } = texts;
  const { event_type, occurred_at, actor_id, carrier_id, operation_id, session_id, ip, request_id, event_id } = event;
  const link = (to: string, text: string) => (
    <Anchor component={Link} to={to} onClick={onLeave} inherit>
      {text}
    </Anchor>
  );
  const id = (value: string) => (
    <Group gap={4} wrap="nowrap">
      <span className={classes.mono}>{value}</span>
      <CopyIcon value={value} />
    </Group>
  );
  const facts: [string, ReactNode][] = [
    [fields.occurred_at, full.format(new Date(occurred_at))],
    [fields.event_type, <span className={classes.mono}>{event_type}</span>],
    [
      fields.actor_id,
      <>
        <ActorText event={event} names={names} />
        {actor_id !== null && <div>{link(`/audit?${new URLSearchParams({ actor_id })}`, texts.sameActor)}</div>}
      </>,
    ],
    [fields.target_id, <TargetText event={event} names={names} />],
    [fields.carrier_id, carrier_id],
    [
      fields.ip,
      ip !== null && (
        <Group gap="sm">
          <AddressLink ip={ip} />
          <BlockAddressButton ip={ip} />
        </Group>
      ),
    ],
    [fields.session_id, session_id !== null && can('session:read') && link(sessionPath(session_id), texts.showSession)],
    [
      fields.operation_id,
      operation_id !== null &&
        (canAny(operationPermissions) ? <OperationText operation_id={operation_id} /> : id(operation_id)),
    ],
    [
      fields.request_id,
      request_id !== null && (
        <>
          {id(request_id)}
          {link(`/audit?${new URLSearchParams({ request_id })}`, texts.sameRequest)}
        </>
      ),
    ],
    [fields.event_id, id(event_id)],
  ];
  return <Facts facts={facts} />;
}

function Changes({ changes }: { changes: AuditEvent['changes'] }): ReactNode {
  const texts = useAuditTexts();
  const all = useChanges()(changes);
  return (
    <section aria-labelledby="changes">
      <Title order={3} size="h5" id="changes" mb="xs">
        {texts.fields.changes}
      </Title>
      {all.length === 0 ? (
        <Text c="dimmed">{texts.noChanges}</Text>
      ) : (
        <Table layout="fixed" withTableBorder className={classes.values} aria-labelledby="changes">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{texts.field}</Table.Th>
              <Table.Th>{texts.before}</Table.Th>
              <Table.Th>{texts.after}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {all.map(({ key, name, before, after }) => (
              <Table.Tr key={key}>
                <Table.Th scope="row" fw={400}>
                  {name}
                </Table.Th>
                <Table.Td c="dimmed">{before ?? '–'}</Table.Td>
                <Table.Td>{after ?? '–'}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </section>
  );
}
