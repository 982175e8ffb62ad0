import 'reflect-metadata';
import { fieldsOf } from '../../src/common/http/field-rules';
import { eventCatalogue } from '../../src/events/event-catalogue';
import { type UserField, userFields, userFieldsWith } from '../../src/users/user-fields';
import {
  ChangeFoundUsersRequest,
  ChangeUserRequest,
  CreateUserRequest,
  PersonalFields,
} from '../../src/users/users.dto';
import { importColumns } from '../../src/users-transfer/transfer-columns';
import { ImportRow } from '../../src/users-transfer/users-transfer.dto';
import { TestService } from '../support/service';

const fields = Object.entries<UserField>(userFields);
const namesOf = (type: Parameters<typeof fieldsOf>[0]) => [...fieldsOf(type).keys()].sort();

describe('the table of user fields', () => {
  it('agrees with the fields of requests', () => {
    expect(namesOf(PersonalFields)).toEqual(userFieldsWith('self_changeable').sort());
    expect(namesOf(ChangeUserRequest)).toEqual(userFieldsWith('change').sort());
    expect(namesOf(ChangeFoundUsersRequest)).toEqual(
      [
        ...userFieldsWith('change', 'bulk_changeable'),
        'roles_add',
        'roles_remove',
        'reset_second_factors',
        'secure',
      ].sort(),
    );
    const created = userFieldsWith('creatable').filter((name) => name !== 'status');
    expect(namesOf(CreateUserRequest)).toEqual([...created, 'password'].sort());
    expect(namesOf(ImportRow)).toEqual(Object.keys(importColumns).sort());
  });

  it('agrees with the personal values in the catalogue of events', () => {
    const names = (chosen: (field: UserField) => boolean) =>
      fields.filter(([, field]) => chosen(field)).map(([name]) => name);
    expect({
      personal: [...eventCatalogue['user.created'].personal].sort(),
      impersonal: [...eventCatalogue['user.created'].impersonal].sort(),
    }).toEqual({
      personal: names(({ creatable, personal }) => creatable === true && personal === true).sort(),
      impersonal: names(({ creatable, personal }) => creatable === true && personal !== true).sort(),
    });
    expect({
      personal: [...eventCatalogue['user.changed'].personal].sort(),
      impersonal: [...eventCatalogue['user.changed'].impersonal].sort(),
    }).toEqual({
      personal: [...names(({ change, personal }) => change !== undefined && personal === true), 'email_pending'].sort(),
      impersonal: names(({ change, personal }) => change !== undefined && personal !== true).sort(),
    });
  });

  it('names the fields without personal values', () => {
    expect(fields.filter(([, { personal }]) => personal !== true).map(([name]) => name)).toEqual([
      ...['user_id', 'user_type', 'carrier_id', 'carrier_scope', 'roles', 'status', 'must_change_password'],
      ...['second_factors', 'second_factor_required_from'],
      ...['created_at', 'created_by', 'updated_at', 'deleted_at', 'version'],
    ]);
  });

  describe('in the database', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await TestService.start();
    });
    afterAll(() => service.close());

    it('has the types of the columns', async () => {
      const columns = await service.rows<{ name: string; type: string }>(`
        select attname as name, replace(format_type(atttypid, null), 'timestamp with time zone', 'timestamptz') as type
        from pg_attribute
        where attrelid = 'users'::regclass
          and attnum > 0
          and not attisdropped`);
      expect(Object.fromEntries(columns.map(({ name, type }) => [name, type]))).toEqual(
        Object.fromEntries(fields.map(([name, { type }]) => [name, type])),
      );
    });

    it('leaves no personal value of a purged user in any table (Z19)', async () => {
      const { token } = service.admin;
      const { user_id } = await service.createUser({});
      const marks = fields
        .filter(([, { personal }]) => personal === true)
        .map(([name, { type }]) => markOf(name, type));
      await service.rows(
        `update users set ${marks.map(({ name, value }) => `${name} = ${value}`).join(', ')} where user_id = $1`,
        [user_id],
      );
      await service.rows(
        `insert into events (event_type, actor_type, target_type, target_id, changes)
         select 'user.changed', 'system', 'user', user_id, (
           select jsonb_object_agg(key, jsonb_build_object('before', value, 'after', value))
           from jsonb_each(to_jsonb(users))
         )
         from users
         where user_id = $1`,
        [user_id],
      );
      for (const [index, name] of userFieldsWith('identifying').entries())
        await service.rows(
          `insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request)
           select gen_random_uuid(), 'change', 'user:update', 'done', 'user', user_id,
             jsonb_build_object('filters', jsonb_build_object($2::text, to_jsonb(users) -> $3))
           from users
           where user_id = $1`,
          [user_id, index % 2 === 0 ? name : `${name}_like`, name],
        );
      for (const [column, text] of [
        ['user_id', 'user_id::text'],
        ['name', 'upper(name)'],
        ['email', 'email'],
        ['email', 'email_pending'],
        ['phone', 'phone'],
      ])
        await service.rows(
          `with operation as (
             insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request)
             select gen_random_uuid(), 'import', 'user:import', 'done', 'user', user_id, '{}'
             from users
             where user_id = $1
             returning operation_id
           )
           insert into operation_skipped (operation_id, line, errors, cells, identities)
           select operation_id, 2, '[]', to_jsonb(users) || jsonb_build_object($2::text, ${text}), array[lower(${text})]
           from operation, users
           where user_id = $1`,
          [user_id, column],
        );
      const marked = async () => {
        const found: string[] = [];
        for (const { name, text } of marks)
          for (const table of [
            'users',
            'user_search',
            'user_tombstones',
            'events',
            'operations',
            'operation_skipped',
            'idempotency_keys',
          ])
            if ((await service.rows(`select 1 from ${table} t where t::text ilike $1`, [`%${text}%`])).length > 0)
              found.push(`${name} in ${table}`);
        return found;
      };
      const before = await marked();
      expect(before).toEqual(expect.arrayContaining(marks.map(({ name }) => `${name} in users`)));
      expect(before).toEqual(expect.arrayContaining(marks.map(({ name }) => `${name} in events`)));
      expect(before).toEqual(
        expect.arrayContaining(userFieldsWith('identifying').map((name) => `${name} in operations`)),
      );
      expect(before).toEqual(expect.arrayContaining(marks.map(({ name }) => `${name} in operation_skipped`)));
      expect((await service.delete(`/user/${user_id}?purge=true`, { token })).status).toBe(204);
      expect(await marked()).toEqual([]);
      const [kept] = await service.rows<{ changes: object }>(
        `select changes from events where target_id = $1 and event_type = 'user.changed'`,
        [user_id],
      );
      expect(Object.keys(kept?.changes ?? {}).sort()).toEqual([...eventCatalogue['user.changed'].impersonal].sort());
    });
  });
});

/** A value of a column as SQL, and the text by which it is found in any table. */
function markOf(name: string, type: UserField['type']): { name: string; value: string; text: string } {
  const number = fields.findIndex(([field]) => field === name);
  const values: Partial<Record<UserField['type'], [value: string, text: string]>> = {
    text: [`'mark-${number}-x'`, `mark-${number}-x`],
    jsonb: [`'{"note": "mark-${number}-x"}'`, `mark-${number}-x`],
    'cidr[]': [`'{203.0.113.${number}/32}'`, `203.0.113.${number}/32`],
    inet: [`'203.0.113.${number}'`, `203.0.113.${number}`],
    timestamptz: [`'19${number + 50}-06-05T00:00:00Z'`, `19${number + 50}-06-05`],
  };
  const [value, text] = values[type] ?? [];
  if (value === undefined || text === undefined) throw new Error(`Give the type ${type} a mark.`);
  return { name, value, text };
}
