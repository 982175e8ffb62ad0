import type { TestService } from '../service';
import { until } from '../until';

/** Inserts Carrier Users of one carrier, named by `prefix` and a number. */
export async function addManyUsers(
  service: Pick<TestService, 'rows'>,
  count: number,
  carrier: string,
  prefix = carrier,
): Promise<void> {
  await service.rows(
    `
      insert into users (user_id, user_type, name, email, carrier_id, roles, status, attributes)
      select
        uuid_v7(), 'carrier', $2 || '-' || i, $2 || '-' || i || '@example.com', $3, '{carrier_user}', 'active',
        jsonb_build_object('number', i)
      from generate_series(1, $1::integer) i`,
    [count, prefix, carrier],
  );
  await service.rows(
    `
      insert into credentials (user_id, password_hash)
      select user_id, '$none'
      from users
      where carrier_id = $1
      on conflict do nothing`,
    [carrier],
  );
  await service.rows('analyze users, user_logins, user_seen');
}

/** Waits until an operation has ended, and returns it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- its shape is checked by ajv
export async function ended(service: TestService, operation_id: string, token = service.admin.token): Promise<any> {
  const read = async () => (await service.get(`/user/operation/${operation_id}`, { token })).body;
  await until(async () => (await read()).finished_at !== null);
  return read();
}
