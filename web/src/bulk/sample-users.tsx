import { Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Schema } from '../api/client';
import { own } from '../own';
import { useValueText } from '../users/use-value-text';
import type { Change } from './change';
import classes from './sample-users.module.css';
import { useBulkTexts } from './use-bulk-texts';

/** Without `user:read`, only the id is known. */
type User = Schema<'PreviewedUserResponse'>;

interface SampleUsersProps {
  users: User[];
  /** null = no field changes */
  change: Change | null;
}

interface Difference {
  field: string;
  before: unknown;
  after: unknown;
}

/** Shows some of the users that a bulk change would change, with values before and after. */
export function SampleUsers({ users, change }: SampleUsersProps): ReactNode {
  const texts = useBulkTexts();
  const valueText = useValueText();
  const names: Record<string, string> = texts.fields;
  return (
    <Table className={classes.table} verticalSpacing={6}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{texts.columns.name}</Table.Th>
          <Table.Th className={classes.wide}>{texts.columns.email}</Table.Th>
          {change !== null && <Table.Th>{texts.columns.change}</Table.Th>}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {users.map((user) => (
          <Table.Tr key={user.user_id}>
            <Table.Td>{user.name ?? user.user_id}</Table.Td>
            <Table.Td className={classes.wide}>{user.email}</Table.Td>
            {change !== null && (
              <Table.Td>
                {differencesOf(user, change).map(({ field, before, after }) => (
                  <Text key={field} size="sm">
                    <Text span inherit c="dimmed">
                      {names[field]}: {valueText(field, before)}
                    </Text>{' '}
                    <span role="img" aria-label={texts.arrow}>
                      →
                    </span>{' '}
                    {valueText(field, after)}
                  </Text>
                ))}
              </Table.Td>
            )}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** Returns the fields of a user that a change touches, with their values before and after. */
function differencesOf(user: User, change: Change): Difference[] {
  if (user.roles === undefined) return [];
  const { roles: before_roles } = user;
  const { roles_add, roles_remove, attributes, reset_second_factors, ...plain } = change;
  const differences: Difference[] = Object.entries(plain).map(([field, after]) => ({
    field,
    before: user[field as keyof User],
    after,
  }));
  if (roles_add !== undefined || roles_remove !== undefined) {
    const kept = before_roles.filter((role) => roles_remove?.includes(role) !== true);
    differences.push({ field: 'roles', before: before_roles, after: [...new Set([...kept, ...(roles_add ?? [])])] });
  }
  if (attributes !== undefined) {
    const before = Object.fromEntries(Object.keys(attributes).map((key) => [key, own(user.attributes ?? {}, key)]));
    differences.push({ field: 'attributes', before, after: attributes });
  }
  if (reset_second_factors === true)
    differences.push({ field: 'reset_second_factors', before: user.second_factors, after: [] });
  return differences.filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after));
}
