import { Client } from 'pg';
import { advisoryLocks } from '../../../src/common/advisory-locks';
import { addManyUsers, ended } from '../../support/many-users';
import { type TestAnswer, type TestLogin, TestService } from '../../support/service';
import { until } from '../../support/until';

const rounds = 4;

describe('races of bulk changes', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const send = (method: string, path: string, { token }: { token: string }, body?: unknown) =>
    service.send(method, path, { token, body });

  it.each([
    ['PATCH', { locale: 'fr' }],
    ['DELETE', undefined],
  ])('lets one of 20 parallel uses of a confirm token of %s win, and applies it once (B22)', async (method, body) => {
    for (let index = 0; index < 3; index++) await service.createUser({ carrier_id: `token-${method}` });
    const path = `/user/all?carrier_id=token-${method}`;
    const { confirm_token } = (await send(method, `${path}&dry_run=true`, service.admin, body)).body;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send(method, `${path}&confirm_token=${confirm_token}`, service.admin, body)),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won.map(({ body: done }) => [done.matched, done.changed])).toEqual([[3, 3]]);
    expect(answers.filter((answer) => answer.status === 409 && answer.body.code === 'bulk.set_changed')).toHaveLength(
      19,
    );
    const changed = `select version from users where carrier_id = $1`;
    expect(await service.rows(changed, [`token-${method}`])).toEqual([{ version: 2 }, { version: 2 }, { version: 2 }]);
  });

  it('undoes an operation once when 20 undo requests run in parallel (B22)', async () => {
    for (let index = 0; index < 3; index++) await service.createUser({ carrier_id: 'undone' });
    const { operation_id } = (await send('PATCH', '/user/all?carrier_id=undone', service.admin, { locale: 'fr' })).body;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send('POST', `/user/operation/${operation_id}/undo`, service.admin)),
    );
    expect(answers.filter(({ status }) => status === 202).map(({ body }) => body.changed)).toEqual([3]);
    expect(answers.filter(({ body }) => body.code === 'operation.not_undoable')).toHaveLength(19);
    expect(await service.rows(`select distinct version, locale from users where carrier_id = 'undone'`)).toEqual([
      { version: 3, locale: null },
    ]);
  });

  it('keeps the last administrator when an operation is accepted during a bulk change (B15, Z15)', async () => {
    const setOf = (user: string) =>
      service.rows<{ timezone: string }>('select timezone from users where name = $1', [user]);
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await addManyUsers(service, 10_003, 'lanes');
    const { user_id } = await service.createUser({ user_type: 'system', carrier_id: undefined });
    const ids = await service.rows<{ user_id: string }>(
      `select user_id from users where name in ('lanes-1', 'lanes-10003')`,
    );
    const found = [user_id, ...ids.map((row) => row.user_id)].join(',');
    const [bulkWaits, operationWaits] = [
      new Client(service.config.DATABASE_URL),
      new Client(service.config.DATABASE_URL),
    ];
    try {
      await bulkWaits.connect();
      await operationWaits.connect();
      await bulkWaits.query(`begin; select pg_advisory_xact_lock(${advisoryLocks.administrators})`);
      await operationWaits.query(`begin; select 1 from users where name = 'lanes-7000' for update`);
      const bulk = send('PATCH', `/user/all?user_id_in=${found}`, service.admin, {
        status: 'disabled',
        timezone: 'Europe/Rome',
      });
      await until(async () => (await service.rows(waiting)).length === 1);
      const accepted = await send('PATCH', '/user/all?carrier_id=lanes', service.admin, { timezone: 'Europe/Paris' });
      expect(accepted.status).toBe(202);
      await until(async () => (await service.rows(waiting)).length === 2);
      await bulkWaits.query('commit');
      const { status, body } = await bulk;
      expect([status, body.code]).toEqual([409, 'operation.overlaps']);
      await operationWaits.query('commit');
      expect(await ended(service, accepted.body.operation_id)).toMatchObject({ status: 'done', changed: 10_003 });
      expect([await setOf('lanes-1'), await setOf('lanes-10003')]).toEqual([
        [{ timezone: 'Europe/Paris' }],
        [{ timezone: 'Europe/Paris' }],
      ]);
    } finally {
      await Promise.all([bulkWaits.end(), operationWaits.end()]);
    }
  });

  it('causes no 5xx and keeps an administrator in parallel bulk and single changes (B15, F26)', async () => {
    const administrators: TestLogin[] = [];
    for (let index = 0; index < 3; index++)
      administrators.push(await service.loginAs({ user_type: 'system', roles: ['administrator'] }));
    const users: TestLogin[] = [];
    for (let index = 0; index < 8; index++)
      users.push(await service.loginAs({ carrier_id: index % 2 === 0 ? 'odd' : 'even', roles: ['carrier_user'] }));
    const answers: TestAnswer[] = [];
    const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T;
    const all = [
      'carrier_id=odd',
      'carrier_id=even',
      'carrier_id_in=odd,even',
      'user_type=carrier',
      'everyone=true',
      'role=carrier_user',
      'q=user',
    ];
    const changes = [
      { status: 'disabled' },
      { status: 'active' },
      { locale: 'de' },
      { locale: 'fr' },
      { attributes: { a: '1' } },
      { attributes: { a: null } },
      { roles_add: ['carrier_user'] },
      { roles: [] },
      { allowed_ips: ['127.0.0.1'] },
      { allowed_ips: [] },
    ];
    const requests: ((by: TestLogin) => Promise<TestAnswer>)[] = [
      (by) =>
        send(
          'PATCH',
          `/user/all?${pick(all)}&user_type=carrier`
            .replace('everyone=true&', '')
            .replace('user_type=carrier&user_type', 'user_type'),
          by,
          pick(changes),
        ),
      (by) => send('PATCH', `/user/all?${pick(all.slice(0, 3))}`, by, pick(changes)),
      (by) =>
        send(
          'PATCH',
          '/user/all?role=administrator',
          by,
          pick([{ status: 'disabled' }, { roles_remove: ['administrator'] }, { locale: 'de' }]),
        ),
      (by) => send('DELETE', `/user/all?${pick(all.slice(0, 2))}`, by),
      (by) =>
        send(
          'PATCH',
          `/user/${pick(users).user_id}`,
          by,
          pick([{ status: 'disabled' }, { status: 'active' }, { first_name: pick(['Ada', 'Bob']) }]),
        ),
      (by) => send('DELETE', `/user/${pick(users).user_id}`, by),
      (by) => send('POST', `/user/${pick(users).user_id}/restore`, by),
      (by) => send('PATCH', `/user/${pick(administrators).user_id}`, by, pick([{ status: 'disabled' }, { roles: [] }])),
      (by) => send('DELETE', `/auth/session/all?carrier_id=${pick(['odd', 'even'])}`, by),
      () => service.post('/auth/check-token', { body: { refresh_token: pick(users).refresh_token } }),
    ];
    for (let round = 0; round < rounds; round++) {
      // Restores the users who were disabled, demoted or logged out in the previous round.
      await service.rows(
        `update users set status = 'active', roles = '{administrator}', deleted_at = null where user_id = any($1)`,
        [administrators.map(({ user_id }) => user_id)],
      );
      await service.rows(`update users set status = 'active' where carrier_id in ('odd', 'even')`);
      await service.rows('update sessions set ended_at = null');
      answers.push(...(await Promise.all([...requests, ...requests].map((request) => request(pick(administrators))))));
    }
    const results = answers.map(({ status, body }) => `${status} ${body?.code ?? ''}`);
    expect(results.filter((result) => result.startsWith('5'))).toEqual([]);
    expect(results.filter((result) => result.startsWith('2')).length).toBeGreaterThan(rounds);
    // The restore of a single user does not report the previous version.
    const steps = await service.rows<{
      version: number;
      events: number;
      twice: boolean;
    }>(`
      select
        version, count(event_id)::integer as events,
        count(target_version) <> count(distinct target_version) or max(target_version) > version as twice
      from users
      left join events on target_id = user_id
        and event_type in ('user.changed', 'user.deleted', 'user.restored')
      where users.carrier_id in ('odd', 'even')
      group by user_id`);
    expect(steps.filter(({ version, events, twice }) => twice || events !== version - 1)).toEqual([]);
    expect(steps.some(({ version }) => version > 1)).toBe(true);
    const left = `
      select 1
      from users
      where roles && '{administrator}'
        and status = 'active'
        and deleted_at is null
        and carrier_scope is null`;
    expect((await service.rows(left)).length).toBeGreaterThan(0);
  });
});
