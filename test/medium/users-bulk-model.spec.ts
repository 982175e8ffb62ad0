import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type TestLogin, TestService } from '../support/service';
import { type ModelUser, draft, type Draft, drafts, filters, change } from '../support/bulk-model';

describe('bulk changes against a plain model', () => {
  let service: TestService;
  let callers: { login: TestLogin; row: ModelUser }[];
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(
      `
        insert into roles (name, user_types, permissions)
        values ('both', '{system,carrier}', '{}'), ('carrier_auditor', '{carrier}', '{audit:read}')`,
    );
    const logins = [service.admin, await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] })];
    // Activity that a request records must not change the caller.
    await service.rows(`update sessions set last_seen_at = now() + interval '1 hour'`);
    callers = [];
    for (const login of logins)
      callers.push({ login, row: (await service.get(`/user/${login.user_id}`, service.admin)).body });
  });
  afterAll(() => service.close());

  const rowsOf = async (columns = `to_jsonb(users) - 'version' - 'updated_at' as row`) =>
    new Map(
      (await service.rows<{ user_id: string }>(`select user_id, ${columns} from users`)).map((row) => [
        row.user_id,
        row,
      ]),
    );
  const living = () =>
    service.rows<ModelUser & { version: number; deleted_at: null }>('select * from users where deleted_at is null');

  /** Inserts users; users who are not invited get a password. */
  async function add(some: Draft[]): Promise<void> {
    const users = some.map((user) => ({
      ...user,
      user_id: randomUUID(),
      version: 1,
      created_at: new Date(),
      updated_at: '2026-01-01',
    }));
    const rows = users.map((user) => ({
      first_name: '',
      last_name: '',
      ...user,
      name: user.user_id,
      email: `${user.user_id}@example.com`,
    }));
    const columns = Object.keys(rows[0] ?? { user_id: '' }).join();
    await service.rows(
      `insert into users (${columns}) select ${columns} from jsonb_populate_recordset(null::users, $1)`,
      [JSON.stringify(rows)],
    );
    await service.rows(
      `
        insert into credentials (user_id, password_hash)
        select user_id, '$none'
        from users
        where status <> 'invited'
        on conflict do nothing`,
    );
  }

  /** Replaces all users except the callers. */
  async function fill(some: Draft[]): Promise<void> {
    const ids = callers.map(({ row }) => row.user_id);
    await service.rows('delete from users where user_id <> all($1)', [ids]);
    await service.rows(
      `
        update users
        set
          locale = null, timezone = null, attributes = '{}', allowed_ips = '{}', first_name = '',
          deleted_at = null`,
    );
    await service.rows('update sessions set ended_at = null, ended_reason = null, ended_by = null');
    await add(some);
  }

  const seenBy = ({ row }: { row: ModelUser }, user: ModelUser) =>
    row.carrier_id === null || row.carrier_id === user.carrier_id;
  const idsOf = (users: { user_id: string }[]) => users.map(({ user_id }) => user_id).sort();

  it('selects the same users in list, count, preview, change and deletion', async () => {
    let met = 0;
    const property = fc.asyncProperty(drafts, filters, fc.nat(1), async (some, [query, holds], which) => {
      await fill(some);
      const caller = callers[which] as (typeof callers)[0];
      const { login, row } = caller;
      const found = (await living()).filter((user) => seenBy(caller, user) && holds(user));
      const spared = found.filter(
        (user) => user.user_id !== row.user_id && row.carrier_id !== null && user.roles.includes('carrier_auditor'),
      );
      met += found.length;
      const listQuery = query === 'everyone=true' ? '' : `&${query}`;
      const list = (await service.get(`/user/list?count=exact&per_page=500${listQuery}`, login)).body;
      expect([query, idsOf(list.items), list.total]).toEqual([
        query,
        idsOf(found),
        { value: found.length, relation: 'eq' },
      ]);
      const body = { timezone: 'Europe/Paris' };
      for (const [method, payload] of [['PATCH', body] as const, ['DELETE', undefined] as const]) {
        const self = method === 'DELETE' && found.some(({ user_id }) => user_id === row.user_id) ? [row] : [];
        const skipped = idsOf([...spared, ...self]);
        const wanted = idsOf(found).filter((id) => !skipped.includes(id));
        const send = (end: string) =>
          service.send(method, `/user/all?${query}${end}`, { token: login.token, body: payload });
        const preview = (await send('&dry_run=true')).body;
        expect(preview).toMatchObject({
          matched: found.length,
          would_change: wanted.length,
          skipped_count: skipped.length,
        });
        expect(preview.sample.length).toBe(Math.min(20, wanted.length));
        const before = await rowsOf('version, deleted_at');
        const done = (await send('')).body;
        expect(done).toMatchObject({
          matched: found.length,
          changed: wanted.length,
          unchanged: 0,
          skipped_count: skipped.length,
        });
        expect(idsOf(done.skipped)).toEqual(skipped);
        const after = await service.rows<ModelUser & { version: number; deleted_at: Date | null; timezone: string }>(
          'select * from users',
        );
        const touched = after.filter(
          ({ user_id, version }) => version !== (before.get(user_id) as unknown as { version: number }).version,
        );
        expect(idsOf(touched)).toEqual(wanted);
        expect(
          touched.every((user) => (method === 'PATCH' ? user.timezone === body.timezone : user.deleted_at !== null)),
        ).toBe(true);
      }
    });
    await fc.assert(property, { numRuns: 25, endOnFailure: true });
    // Control: the filters match users.
    expect(met).toBeGreaterThan(15);
  });

  it('changes exactly the previewed users with a confirm token, or none', async () => {
    const counts = { same: 0, other: 0 };
    /** A change between preview and confirmation. */
    const between = fc.array(
      fc.oneof(
        draft,
        fc.record({ nth: fc.nat(), field: fc.constantFrom('status', 'locale', 'deleted_at', 'first_name') }),
      ),
      { maxLength: 2 },
    );
    const property = fc.asyncProperty(
      drafts,
      filters,
      between,
      fc.boolean(),
      async (some, [query, holds], events, deletes) => {
        await fill(some);
        const found = async () => idsOf((await living()).filter(holds));
        const send = (end: string) =>
          service.send(deletes ? 'DELETE' : 'PATCH', `/user/all?${query}&${end}`, {
            token: service.admin.token,
            body: deletes ? undefined : { timezone: 'Europe/Paris' },
          });
        const shown = await found();
        const { confirm_token } = (await send('dry_run=true')).body;
        for (const event of events) {
          if ('user_type' in event) await add([event]);
          else {
            const others = (await living()).filter((user) => callers.every(({ row }) => row.user_id !== user.user_id));
            const id = others[event.nth % others.length]?.user_id ?? null;
            const values = { status: `'disabled'`, locale: `'en'`, deleted_at: 'now()', first_name: `'Ada'` };
            await service.rows(`update users set ${event.field} = ${values[event.field]} where user_id = $1`, [id]);
          }
        }
        const [now, before] = [await found(), await rowsOf()];
        const same = now.join() === shown.join();
        counts[same ? 'same' : 'other']++;
        const { status: answered, body } = await send(`confirm_token=${confirm_token}`);
        expect([query, answered, body.code]).toEqual([query, ...(same ? [200, undefined] : [409, 'bulk.set_changed'])]);
        const after = await rowsOf();
        const moved = [...after.keys()].filter(
          (id) => JSON.stringify(after.get(id)) !== JSON.stringify(before.get(id)),
        );
        const skipped = deletes ? [service.admin.user_id] : [];
        expect(moved.sort()).toEqual(same ? shown.filter((id) => !skipped.includes(id)) : []);
      },
    );
    await fc.assert(property, { numRuns: 30, endOnFailure: true });
    expect(Math.min(counts.same, counts.other)).toBeGreaterThan(0);
  });

  it('restores everything except users who changed since, and names exactly these', async () => {
    const counts = { restored: 0, skipped: 0 };
    const property = fc.asyncProperty(
      drafts,
      filters,
      fc.option(change, { freq: 4, nil: null }),
      fc.array(fc.nat(), { maxLength: 3 }),
      async (some, [query], body, nths) => {
        await fill(some);
        const before = await rowsOf();
        const { token } = service.admin;
        // Except for the row of the caller, who must remain able to undo.
        const filter =
          query === 'everyone=true'
            ? `user_id_ne=${service.admin.user_id}`
            : `${query}&user_id_ne=${service.admin.user_id}`;
        const done = await service.send(body === null ? 'DELETE' : 'PATCH', `/user/all?${filter}`, {
          token,
          body: body ?? undefined,
        });
        expect([body, done.status, done.text]).toEqual([body, 200, done.text]);
        const { operation_id, changed } = done.body;
        const events = await service.rows<{ user_id: string }>(
          `select target_id as user_id from events where operation_id = $1 and target_type = 'user'`,
          [operation_id],
        );
        expect(events).toHaveLength(changed);
        // Mostly users that the operation changed.
        const alive = await living();
        const others = [...events, ...events, ...alive];
        const touched = new Set(
          others.length === 0 ? [] : nths.map((nth) => others[nth % others.length]?.user_id ?? ''),
        );
        for (const id of touched) {
          const lives = alive.some(({ user_id }) => user_id === id);
          const touch = lives
            ? service.patch(`/user/${id}`, { token, body: { first_name: 'Ada' } })
            : service.post(`/user/${id}/restore`, { token });
          expect((await touch).status).toBe(200);
        }
        const left = await rowsOf();
        if (changed === 0) return;
        const undone = (await service.post(`/user/operation/${operation_id}/undo`, { token })).body;
        const skipped = idsOf(events).filter((id) => touched.has(id));
        expect([body, undone]).toEqual([
          body,
          expect.objectContaining({ changed: changed - skipped.length, unchanged: 0, skipped_count: skipped.length }),
        ]);
        expect(undone.skipped).toEqual(skipped.map((user_id) => ({ user_id, reason: 'user.version_mismatch' })));
        const after = await rowsOf();
        const expected = new Map(
          [...left].map(([id, row]) => [
            id,
            events.some(({ user_id }) => user_id === id) && !touched.has(id) ? before.get(id) : row,
          ]),
        );
        expect(after).toEqual(expected);
        counts.restored += undone.changed;
        counts.skipped += skipped.length;
      },
    );
    await fc.assert(property, { numRuns: 40, endOnFailure: true });
    expect(Math.min(counts.restored, counts.skipped)).toBeGreaterThan(0);
  });
});
