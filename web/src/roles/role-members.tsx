import { Anchor, Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconUserPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { Dialog, DialogButtons } from '../components/dialogs/dialog';
import { Form } from '../components/forms/form';
import { SearchField } from '../components/lists/search-field';
import { Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { useMe } from '../session/use-me';
import { useLanguage } from '../texts/language';
import { candidatesQuery, grantRole, holdersQuery, type Role } from './data';
import { holdersPath } from './role-links';
import { useRolesTexts } from './use-roles-texts';

/** Shows the first users who have a role, and grants it to found users. */
export function RoleMembers({ role, mayGrant }: { role: Role; mayGrant: boolean }): ReactNode {
  const texts = useRolesTexts().members;
  const language = useLanguage();
  const { can } = useMe();
  const [isAdding, adding] = useDisclosure();
  const { data, error, refetch } = useQuery(holdersQuery(role.name));
  const total = data?.total?.value ?? 0;
  const addButton = can('user:update') && mayGrant && (
    <Button variant="default" size="xs" leftSection={<IconUserPlus size={16} aria-hidden />} onClick={adding.open}>
      {texts.add}
    </Button>
  );
  return (
    <Section title={texts.title} actions={addButton}>
      <ProblemAlert error={error} onRetry={() => void refetch()} />
      {data?.items.length === 0 && <Text size="sm">{texts.none}</Text>}
      <Group gap="md" component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
        {data?.items.map(({ user_id, name }) => (
          <li key={user_id}>
            <Anchor component={Link} to={`/users/${user_id}`} size="sm" style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Anchor>
          </li>
        ))}
      </Group>
      {data !== undefined && total > data.items.length && (
        <Anchor component={Link} to={holdersPath(role.name)} size="sm" mt="xs" display="inline-block">
          {texts.showAll(total.toLocaleString(language))}
        </Anchor>
      )}
      <Dialog opened={isAdding} onClose={adding.close} title={texts.addTo(role.name)}>
        <AddForm role={role} onClose={adding.close} />
      </Dialog>
    </Section>
  );
}

function AddForm({ role, onClose }: { role: Role; onClose: () => void }): ReactNode {
  const texts = useRolesTexts().members;
  const form = useProblemForm();
  const [q, setQ] = useState('');
  const [chosen, setChosen] = useState<string[]>([]);
  const { data, error } = useQuery(candidatesQuery(role, q));
  const found = (data?.items ?? []).filter(({ roles }) => !roles?.includes(role.name));
  const rest = found.filter(({ user_id }) => !chosen.includes(user_id));
  const add = async () => {
    const isDone = await form.submit(async () => {
      const changed = await grantRole(role.name, chosen);
      notifications.show({ message: texts.added(changed, chosen.length) });
    });
    if (isDone) onClose();
  };
  return (
    <Form gap="sm" onSubmit={add}>
      <SearchField label={texts.search} onSearch={setQ} />
      <ProblemAlert error={error ?? form.problem} />
      <Group justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {data === undefined ? '' : texts.found(found.length, data.next_cursor !== null)}
        </Text>
        {rest.length > 0 && (
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => setChosen([...chosen, ...rest.map(({ user_id }) => user_id)])}
          >
            {texts.selectAll(found.length)}
          </Button>
        )}
      </Group>
      <Checkbox.Group
        aria-label={texts.title}
        value={chosen}
        onChange={setChosen}
        mah={320}
        style={{ overflow: 'auto' }}
      >
        <Stack gap="xs" p={4}>
          {found.map(({ user_id, name, email }) => (
            <Checkbox key={user_id} value={user_id} label={`${name} · ${email}`} />
          ))}
        </Stack>
      </Checkbox.Group>
      <DialogButtons onCancel={onClose} isSending={form.isSending} disabled={chosen.length === 0}>
        {texts.submit(chosen.length)}
      </DialogButtons>
    </Form>
  );
}
