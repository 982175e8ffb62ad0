import { errorsIn, importRows } from '../support/data/imports';
import { createKey } from '../support/data/keys';
import { visibleResponse } from '../support/data/links';
import { addManyUsers, ended } from '../support/data/many-users';
import { password, type TestLogin, TestService } from '../support/service';

type Token = Pick<TestLogin, 'token'>;

/** Maximum number of conflicts that the service reports per carrier and hour. */
const limit = 100;
const taken = 120;

describe('probing for names and addresses of other carriers', () => {
  let service: TestService;
  let carriers = 0;
  /** the carrier of the test: conflicts are counted per carrier */
  let carrier: string;
  beforeAll(async () => {
    service = await TestService.start();
    await addManyUsers(service, taken, 'c2', 'taken');
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('prober', '{carrier,system}', '{user:import,user:create,user:update,user:delete,key:manage}')`);
  });
  afterAll(() => service.close());
  beforeEach(() => (carrier = `carrier-${++carriers}`));

  const login = (fields: object = { carrier_id: carrier }) => service.loginAs({ roles: ['prober'], ...fields });
  const row = (name: string, more: object = {}) => ({
    ...{ user_type: 'carrier', name, email: `${name}@free.example`, carrier_id: carrier },
    ...more,
  });
  const rowsOf = (count: number, prefix: string, from = 1) =>
    Array.from({ length: count }, (_, i) => row(`${prefix}-${from + i}`));
  const takenRows = (count: number, from = 1) => rowsOf(count, 'taken', from);
  const send = (actor: Token, rows: object[], query = '') => importRows(service, rows, actor, query);
  const dryRun = (actor: Token, rows: object[], query = '') => send(actor, rows, `dry_run=true&${query}`);
  const create = ({ token }: Token, body: object) => service.post('/user/create', { token, body });
  const remove = (actor: Token, user_id: string) => service.delete(`/user/${user_id}`, actor);
  /** Returns the errors of rows without their lines, each once. */
  const distinctErrors = (body: Parameters<typeof errorsIn>[0]) =>
    new Set(errorsIn(body).map(({ line: _, ...error }) => JSON.stringify(error)));

  it('reports conflicts with users in the scope of the actor without limit (B25)', async () => {
    const actor = await login();
    await addManyUsers(service, taken, carrier, 'own-synced');
    const rows = rowsOf(taken, 'own-synced');
    for (const query of ['on_conflict=skip', 'dry_run=true&on_conflict=skip'])
      expect((await send(actor, rows, query)).body).toMatchObject({ unchanged: taken, skipped_count: 0, skipped: [] });
    for (const query of ['', 'dry_run=true'])
      expect((await send(actor, rows, query)).body.skipped_reasons).toEqual({ 'user.name_taken': taken });
    const own = (await create(actor, row('after-sync'))).body.user_id as string;
    for (const { name } of rows.slice(0, 3)) {
      expect((await create(actor, row(name))).status).toBe(409);
      const email = ` ${name.toUpperCase()}@example.COM`;
      expect((await service.patch(`/user/${own}`, { ...actor, body: { email } })).body.code).toBe('user.email_taken');
    }
    expect((await dryRun(actor, takenRows(limit))).body.skipped_reasons).toEqual({ 'user.name_taken': limit });
    expect((await create(actor, row('own-synced-1'))).status).toBe(429);
  });

  it('is recorded for each dry run, with counts and no value of a row (B25)', async () => {
    const actor = await login();
    const { body } = await dryRun(actor, [...takenRows(3), ...rowsOf(2, 'audited')]);
    expect(body).toMatchObject({ would_create: 2, skipped_count: 3 });
    const events = await service.rows(
      `
        select event_type, actor_type, target_type, target_id, carrier_id, changes
        from events
        where actor_id = $1 and event_type like 'user.%'`,
      [actor.user_id],
    );
    const changes = { rows: { after: 5 }, would_create: { after: 2 }, conflicts: { after: 3 } };
    const target = { target_type: 'user', target_id: null, carrier_id: carrier };
    expect(events).toEqual([{ event_type: 'user.import_previewed', actor_type: 'user', ...target, changes }]);
  });

  it('ends after 100 conflicts of a dry run: taken and free names then look alike (B25)', async () => {
    const rows = [...rowsOf(50, 'before'), ...takenRows(taken), ...rowsOf(1_500, 'after')];
    const { status, body } = await dryRun(await login(), rows);
    expect([status, body.would_create, body.skipped_count]).toEqual([200, 50, taken + 1_500]);
    const limited = taken - limit;
    expect(body.skipped_reasons).toEqual({ 'user.name_taken': limit, 'request.rate_limited': limited + 1_500 });

    carrier = 'skipping';
    const actor = await login();
    const skipping = (await dryRun(actor, [...takenRows(taken), ...rowsOf(50, 'skip')], 'on_conflict=skip')).body;
    expect(skipping).toMatchObject({ would_create: 0, unchanged: limit });
    expect(skipping.skipped_reasons).toEqual({ 'request.rate_limited': limited + 50 });
    expect(distinctErrors(skipping).size).toBe(1);
    expect((await dryRun(actor, [row('taken-1')], 'on_conflict=skip')).status).toBe(429);
  });

  it('counts single requests, and is rejected in each that can reveal a conflict after 100 (B25)', async () => {
    const actor = await login();
    const own = (await create(actor, row('own'))).body.user_id as string;
    const deleted = (await create(actor, row('own-deleted'))).body.user_id as string;
    expect((await remove(actor, deleted)).status).toBe(204);
    await service.createUser({ name: 'own-deleted', carrier_id: 'c2' });
    await create(actor, row('bulk-deleted'));
    const { operation_id } = (await service.delete('/user/all?name=bulk-deleted', actor)).body;
    await dryRun(actor, takenRows(limit - 4));
    const patch = (body: object) => service.patch(`/user/${own}`, { token: actor.token, body });
    // Their transactions are rolled back.
    for (const [code, { body }] of [
      ['user.name_taken', await create(actor, row('taken-1'))],
      ['user.name_taken', await patch({ name: 'taken-2' })],
      ['user.email_taken', await patch({ email: 'taken-3@example.com' })],
      ['user.name_taken', await service.post(`/user/${deleted}/restore`, actor)],
    ] as const)
      expect(body.code).toBe(code);
    const answers = [
      await dryRun(actor, [row('taken-1')]),
      await dryRun(actor, [row('free-1')]),
      await create(actor, row('taken-1')),
      await create(actor, row('free-2')),
      await create(actor, row('free-3', { email: 'taken-1@example.com' })),
      await patch({ name: 'taken-1' }),
      await patch({ name: 'free-4' }),
      await patch({ email: 'taken-1@example.com' }),
      await patch({ email: 'free-5@free.example' }),
      await service.post(`/user/${deleted}/restore`, actor),
      await service.post(`/user/${deleted}/restore`, { ...actor, body: {} }),
      await service.post(`/user/operation/${operation_id}/undo`, actor),
      await service.post('/auth/email', { ...actor, body: { email: 'a@free.example', current_password: password } }),
    ];
    for (const { status, body, headers } of answers) {
      expect([status, body.code, body.detail]).toEqual([429, 'request.rate_limited', answers[0]?.body.detail]);
      expect(headers['ratelimit-policy']).toBe('"conflicts";q=100;w=3600');
      expect(Number(headers['retry-after'])).toBeGreaterThan(3_000);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(3_600);
    }
    expect((await patch({ first_name: 'Ada' })).status).toBe(200);
    // The hour ends.
    await service.rows(`update rate_limits set ends_at = ends_at - interval '1 hour'`);
    expect((await create(actor, row('taken-1'))).body.code).toBe('user.name_taken');
    expect((await create(actor, row('next-hour'))).status).toBe(201);
  });

  it('ends in an import after 100 conflicts: no further row is imported, free or taken (B25)', async () => {
    const actor = await login();
    const rows = [row('first-free'), ...takenRows(taken), row('last-free'), row('bad', { email: '!' })];
    const { body } = await send(actor, rows);
    expect(body).toMatchObject({ changed: 1, skipped_count: taken + 2 });
    expect(body.skipped_reasons).toEqual({
      ...{ 'user.name_taken': limit, 'request.rate_limited': taken - limit + 1, 'field.too_short': 1 },
    });
    for (const query of ['', 'on_conflict=skip']) {
      const later = (await send(actor, [row('taken-1'), row('later-free'), row('first-free')], query)).body;
      expect(later).toMatchObject({ changed: 0, unchanged: 0, skipped_reasons: { 'request.rate_limited': 3 } });
      expect(distinctErrors(later).size).toBe(1);
    }
    const names = ['first-free', 'last-free', 'later-free'];
    expect(await service.rows('select name from users where name = any($1)', [names])).toEqual([{ name: names[0] }]);
  });

  it('counts in an import in the background, which stores at most 100 conflicts (B25)', async () => {
    const actor = await login();
    const md5 = { password_hash: 'd41d8cd98f00b204e9800998ecf8427e' };
    await dryRun(actor, takenRows(limit - 1));
    const hashed = [...takenRows(101, 2), row('free')].map((one) => ({ ...one, ...md5 }));
    const accepted = await send(actor, [row('taken-1'), ...hashed]);
    expect(accepted.status).toBe(202);
    const operation = await ended(service, accepted.body.operation_id, actor.token);
    expect(operation).toMatchObject({ status: 'done', changed: 0, skipped_count: 103 });
    expect(operation.skipped_reasons).toEqual({ 'user.name_taken': 1, 'request.rate_limited': 102 });
    const [stored] = await service.rows<{ skipped: string }>(
      'select skipped::text as skipped from operations where operation_id = $1',
      [operation.operation_id],
    );
    expect(stored?.skipped.match(/"reason": "user.name_taken"/g)).toHaveLength(1);
    const kept = 'select line from operation_skipped where operation_id = $1 and errors::text like $2';
    expect(await service.rows(kept, [operation.operation_id, '%name_taken%'])).toEqual([{ line: 1 }]);
  });

  it('reveals 100 conflicts in total to parallel dry runs and creates of one carrier (B25, B33)', async () => {
    const runs = async (actors: Token[]) =>
      Promise.all(actors.flatMap((actor) => [1, 2, 3, 4].map(() => dryRun(actor, takenRows(40)))));
    const reported = (await runs([await login(), await login()])).map(({ body }) =>
      Number(body.skipped_reasons?.['user.name_taken'] ?? 0),
    );
    expect(reported.reduce((sum, count) => sum + count)).toBe(limit);

    carrier = 'parallel-creates';
    const actors = [await login(), await login()] as const;
    await dryRun(actors[0], takenRows(limit - 10));
    const creates = await Promise.all(takenRows(20).map((one, index) => create(actors[index % 2] as Token, one)));
    const count = (status: number) => creates.filter((answer) => answer.status === status).length;
    expect([count(409), count(429)]).toEqual([10, 10]);
  });

  it('counts in an undone deletion, which skips all further users after 100 conflicts (B25)', async () => {
    const actor = await login();
    for (const one of rowsOf(4, 'undone')) expect((await create(actor, one)).status).toBe(201);
    const deleted = await service.delete(`/user/all?carrier_id=${carrier}&name_like=undone&expected=4`, actor);
    expect(deleted.body.changed).toBe(4);
    await service.createUser({ name: 'undone-1', carrier_id: carrier });
    await service.createUser({ name: 'undone-2' });
    await service.createUser({ email: 'undone-3@free.example' });
    await dryRun(actor, takenRows(limit - 1));
    const undo = () => service.post(`/user/operation/${deleted.body.operation_id}/undo`, actor);
    const skipped_reasons = { 'user.name_taken': 2, 'request.rate_limited': 2 };
    expect((await undo()).body).toMatchObject({ changed: 0, processed: 4, skipped_count: 4, skipped_reasons });
    expect((await undo()).status).toBe(429);
    await service.rows('delete from rate_limits');
    const conflicts = { 'user.name_taken': 2, 'user.email_taken': 1 };
    expect((await undo()).body).toMatchObject({ changed: 1, skipped_reasons: conflicts });
    // Two of the conflicts were with users of other carriers.
    await dryRun(actor, takenRows(limit - 2));
    expect((await create(actor, row('taken-1'))).status).toBe(429);
  });

  it('is not limited for an actor who may list every user (B25)', async () => {
    const { body } = await dryRun(service.admin, takenRows(taken));
    expect(body.skipped_reasons).toEqual({ 'user.name_taken': taken });
    expect((await create(service.admin, row('taken-1'))).body.code).toBe('user.name_taken');
    for (const limited of [{ carrier_scope: [carrier] }, {}]) {
      const actor = await login({ user_type: 'system', ...limited });
      expect((await dryRun(actor, takenRows(taken))).body.skipped_reasons['user.name_taken']).toBe(limit);
    }
  });

  describe('by several callers', () => {
    it('counts all users and API keys of a carrier together (B33)', async () => {
      const users = [await login(), await login(), await login()] as const;
      const { key } = await createKey(service, ['user:create', 'user:import'], {}, users[0]);
      const callers = [...users, { token: key }];
      for (const [i, caller] of callers.entries()) await dryRun(caller, takenRows(24, 1 + i * 24));
      const codes = [];
      for (const caller of [...callers, users[0]]) codes.push((await create(caller, row('taken-97'))).body.code);
      expect(codes).toEqual([...Array<string>(4).fill('user.name_taken'), 'request.rate_limited']);
      for (const caller of callers) {
        expect((await create(caller, row('free-of-all'))).status).toBe(429);
        expect((await dryRun(caller, [row('taken-1')])).status).toBe(429);
      }
      carrier = 'another';
      expect((await create(await login(), row('taken-1'))).status).toBe(409);
    });

    it('counts a System User together with their API keys, and with no other user (B33)', async () => {
      const scope = { user_type: 'system', carrier_scope: [carrier], roles: ['administrator'] };
      const [actor, other] = [await login(scope), await login(scope)];
      const { key } = await createKey(service, ['user:create'], { carrier_scope: [carrier] }, actor);
      await dryRun(actor, takenRows(limit));
      for (const token of [actor.token, key]) expect((await create({ token }, row('taken-1'))).status).toBe(429);
      expect((await create(other, row('taken-1'))).status).toBe(409);
    });

    it('counts sessions, confirmed addresses and links that undo changes separately (B25, B33, R30)', async () => {
      const user = await login({ user_type: 'system', carrier_scope: [carrier], roles: ['administrator'] });
      const own = { current_password: password, new_password: 'a thief knows this phrase' };
      expect((await service.post('/auth/password', { token: user.token, body: own })).status).toBe(204);
      const undo = (await service.mailbox.take(user.email, /This was not me/)).token;
      const email = `${carrier}@confirmed.example`;
      const proposal = { email, current_password: own.new_password };
      expect((await service.post('/auth/email', { token: user.token, body: proposal })).status).toBe(202);
      const confirmation = (await service.mailbox.take(email, /\/auth\/email\//)).token;
      await dryRun(user, takenRows(limit));
      expect((await create(user, row('taken-1'))).status).toBe(429);
      await service.createUser({ email });
      const confirm = () => service.post(`/auth/email/${confirmation}`);
      expect((await confirm()).body.code).toBe('user.email_taken');
      await service.rows('update rate_limits set hits = $1', [limit]);
      expect((await confirm()).body.code).toBe('request.rate_limited');
      expect((await service.post(`/auth/reset/${undo}`, { body: { password } })).status).toBe(204);
    });
  });

  it('reveals no more about System Users and other carriers than about the own carrier (L3)', async () => {
    const own = await service.createUser({ first_name: 'Olivia' });
    const others = [
      await service.createUser({ carrier_id: 'c2', first_name: 'Frederic', last_name: 'Foreign' }),
      await service.createUser({ user_type: 'system', roles: ['auditor'], first_name: 'Sybil' }),
    ];
    const administrator = await service.loginAs({ roles: ['carrier_administrator'] });
    const before = await service.rows('select count(*) from users');
    type User = { name: string; email: string };
    for (const [code, taking] of [
      ['user.email_taken', ({ email }: User) => ({ email })],
      ['user.email_taken', ({ email }: User) => ({ email: ` ${email.toUpperCase()} ` })],
      ['user.name_taken', ({ name }: User) => ({ name })],
    ] as const) {
      const createLike = (owner: User) => create(administrator, row('like', { carrier_id: 'c1', ...taking(owner) }));
      const inOwnCarrier = await createLike(own);
      expect([inOwnCarrier.status, inOwnCarrier.body.code]).toEqual([409, code]);
      for (const owner of others) {
        const elsewhere = await createLike(owner);
        expect(visibleResponse(elsewhere)).toEqual(visibleResponse(inOwnCarrier));
        const shown = JSON.stringify({ ...elsewhere.body, request_id: undefined });
        const secrets = ['c2', owner.user_id, owner.name, owner.email, 'Frederic', 'Foreign', 'Sybil'];
        for (const secret of secrets) expect(shown.toLowerCase()).not.toContain(secret.toLowerCase());
      }
    }
    expect(await service.rows('select count(*) from users')).toEqual(before);
  });
});
