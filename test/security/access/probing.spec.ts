import { errorsIn } from '../../support/imports';
import { addManyUsers, ended } from '../../support/many-users';
import { probing } from '../../support/probing';
import { password, TestService } from '../../support/service';

/** Conflicts per carrier and hour that the service reports. */
const limit = 100;
const taken = 120;
const permissions = ['user:import', 'user:create', 'user:update', 'user:delete', 'key:manage'];

describe('probing for names and addresses of other carriers', () => {
  let service: TestService;
  let carriers = 0;
  /** the carrier of the test: conflicts are counted per carrier */
  let carrier: string;
  beforeAll(async () => {
    service = await TestService.start();
    await addManyUsers(service, taken, 'c2', 'taken');
    await service.rows(`insert into roles (name, user_types, permissions) values ('prober', '{carrier,system}', $1)`, [
      permissions,
    ]);
  });
  afterAll(() => service.close());
  beforeEach(() => (carrier = `carrier-${++carriers}`));

  const { login, row, takenRows, freeRows, send, dryRun, create } = probing(
    () => service,
    () => carrier,
  );
  /** Returns an actor whose carrier has reached the limit of conflicts. */
  const exhausted = async () => {
    const actor = await login();
    await dryRun(actor, takenRows(limit));
    return actor;
  };
  const named = (names: string[]) => service.rows('select name from users where name = any($1)', [names]);

  it('reports conflicts with users in the scope of the actor without limit (B25)', async () => {
    const actor = await login();
    await addManyUsers(service, taken, carrier, 'own-synced');
    const rows = Array.from({ length: taken }, (_, i) => row(`own-synced-${1 + i}`));
    for (const query of ['on_conflict=skip', 'dry_run=true&on_conflict=skip'])
      expect((await send(actor, rows, query)).body).toMatchObject({ unchanged: taken, skipped_count: 0, skipped: [] });
    for (const query of ['', 'dry_run=true'])
      expect((await send(actor, rows, query)).body.skipped_reasons).toEqual({ 'user.name_taken': taken });
    const own = (await create(actor, row('after-sync'))).body.user_id as string;
    for (const { name } of rows) {
      expect((await create(actor, row(name))).status).toBe(409);
      const email = ` ${name.toUpperCase()}@example.COM`;
      expect((await service.patch(`/user/${own}`, { ...actor, body: { email } })).body.code).toBe('user.email_taken');
    }
    expect((await dryRun(actor, takenRows(limit))).body.skipped_reasons).toEqual({ 'user.name_taken': limit });
    expect((await create(actor, row('own-synced-1'))).status).toBe(429);
  });

  it('records each dry run in the audit log with its counts and no value of a row (B25)', async () => {
    const actor = await login();
    expect((await dryRun(actor, [...takenRows(3), ...freeRows(2, 'audited')])).body).toMatchObject({
      would_create: 2,
      skipped_count: 3,
    });
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

  it('stops checking a dry run after 100 conflicts, so that taken and free names look alike (B25)', async () => {
    const rows = [...freeRows(50, 'before'), ...takenRows(taken), ...freeRows(1_500, 'after')];
    const { status, body } = await dryRun(await login(), rows);
    expect([status, body.would_create, body.skipped_count]).toEqual([200, 50, taken + 1_500]);
    expect(body.skipped_reasons).toEqual({
      'user.name_taken': limit,
      'request.rate_limited': taken - limit + 1_500,
    });
    const few = await dryRun(await login({ carrier_id: 'few' }), [
      ...takenRows(limit).map((one) => ({ ...one, carrier_id: 'few' })),
      ...[row('taken-101'), row('free-0'), row('own', { email: '!' })].map((one) => ({ ...one, carrier_id: 'few' })),
    ]);
    expect(few.body.skipped_reasons).toEqual({
      'user.name_taken': limit,
      'request.rate_limited': 2,
      'field.too_short': 1,
    });
  });

  it('counts the rows that a dry run would skip, and stops checking after 100 of them (B25)', async () => {
    const actor = await login();
    const { body } = await dryRun(actor, [...takenRows(taken), ...freeRows(50, 'skip')], 'on_conflict=skip');
    expect([body.would_create, body.unchanged, body.skipped_reasons]).toEqual([
      0,
      limit,
      { 'request.rate_limited': taken - limit + 50 },
    ]);
    expect(new Set(errorsIn(body).map(({ line: _, ...error }) => JSON.stringify(error))).size).toBe(1);
    expect((await dryRun(actor, [row('taken-1')], 'on_conflict=skip')).status).toBe(429);
  });

  it('rejects every request that can reveal a conflict after 100 conflicts of a carrier (B25)', async () => {
    const actor = await login();
    const own = (await create(actor, row('own'))).body.user_id as string;
    const deleted = (await create(actor, row('own-deleted'))).body.user_id as string;
    expect((await service.delete(`/user/${deleted}`, actor)).status).toBe(204);
    await create(actor, row('bulk-deleted'));
    const { operation_id } = (await service.delete('/user/all?name=bulk-deleted', actor)).body;
    await dryRun(actor, takenRows(limit));
    const patch = (body: object) => service.patch(`/user/${own}`, { token: actor.token, body });
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
    expect(answers.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
      answers.map(() => '429 request.rate_limited'),
    );
    expect(new Set(answers.map(({ body }) => body.detail)).size).toBe(1);
    for (const { headers } of answers) {
      expect(headers['ratelimit-policy']).toBe('"conflicts";q=100;w=3600');
      expect(Number(headers['retry-after'])).toBeGreaterThan(3_500);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(3_600);
    }
    expect((await patch({ first_name: 'Ada' })).status).toBe(200);
  });

  it('counts conflicts of single requests although their transactions roll back (B25)', async () => {
    const actor = await login();
    const own = (await create(actor, row('single'))).body.user_id as string;
    await create(actor, row('single-deleted'));
    const [deleted] = await service.rows<{ user_id: string }>(
      `select user_id from users where name = 'single-deleted'`,
    );
    await service.delete(`/user/${deleted!.user_id}`, actor);
    await service.createUser({ name: 'single-deleted', carrier_id: 'c2' });
    await dryRun(actor, takenRows(limit - 4));
    const patch = (body: object) => service.patch(`/user/${own}`, { token: actor.token, body });
    const codes = [];
    for (const answer of [
      () => create(actor, row('taken-1')),
      () => patch({ name: 'taken-2' }),
      () => patch({ email: 'taken-3@example.com' }),
      () => service.post(`/user/${deleted!.user_id}/restore`, actor),
      () => patch({ name: 'taken-4' }),
    ])
      codes.push((await answer()).body.code);
    expect(codes).toEqual([
      'user.name_taken',
      'user.name_taken',
      'user.email_taken',
      'user.name_taken',
      'request.rate_limited',
    ]);
  });

  it('rejects all further rows of imports after 100 conflicts, free or taken, and creates none (B25)', async () => {
    const actor = await login();
    const rows = [row('first-free'), ...takenRows(taken), row('last-free'), row('bad', { email: '!' })];
    const { body } = await send(actor, rows);
    expect(body).toMatchObject({ changed: 1, skipped_count: taken + 2 });
    expect(body.skipped_reasons).toEqual({
      'user.name_taken': limit,
      'request.rate_limited': taken - limit + 1,
      'field.too_short': 1,
    });
    for (const query of ['', 'on_conflict=skip']) {
      const later = (await send(actor, [row('taken-1'), row('later-free'), row('first-free')], query)).body;
      expect(later).toMatchObject({ changed: 0, unchanged: 0, skipped_reasons: { 'request.rate_limited': 3 } });
      expect(new Set(errorsIn(later).map(({ line: _, ...error }) => JSON.stringify(error))).size).toBe(1);
    }
    expect(await named(['first-free', 'last-free', 'later-free'])).toEqual([{ name: 'first-free' }]);
  });

  it('counts conflicts of an import in the background, and stores at most 100 (B25)', async () => {
    const actor = await login();
    const md5 = (name: string) => row(name, { password_hash: 'd41d8cd98f00b204e9800998ecf8427e' });
    await dryRun(actor, takenRows(limit - 1));
    const accepted = await send(actor, [
      ...takenRows(1),
      ...takenRows(101, 2).map(({ name }) => md5(name)),
      md5('free'),
    ]);
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

  it('reports 100 conflicts in total to parallel dry runs of one carrier (B25, B33)', async () => {
    const actors = [await login(), await login()];
    const runs = await Promise.all(Array.from({ length: 20 }, (_, i) => dryRun(actors[i % 2]!, takenRows(90))));
    const reported = runs
      .map(({ body }) => (body.skipped_reasons as Record<string, number> | undefined)?.['user.name_taken'] ?? 0)
      .reduce((sum, count) => sum + count);
    expect(reported).toBe(limit);
  });

  it('reports only the remaining conflicts to 50 parallel creates (B25, B33)', async () => {
    const actors = [await login(), await login()];
    await dryRun(actors[0]!, takenRows(limit - 10));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => create(actors[i % 2]!, row(`taken-${1 + i}`))),
    );
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([count(409), count(429)]).toEqual([10, 40]);
  });

  it('reports the field again after an hour (B25)', async () => {
    const actor = await exhausted();
    expect((await create(actor, row('taken-1'))).status).toBe(429);
    await service.rows(`update rate_limits set ends_at = ends_at - interval '1 hour'`);
    expect((await create(actor, row('taken-1'))).body.code).toBe('user.name_taken');
    expect((await create(actor, row('next-hour'))).status).toBe(201);
  });

  it('counts the conflict of a confirmed address against the user who proposed it (B25)', async () => {
    const actor = await login();
    const own = (await create(actor, row('confirming', { password }))).body.user_id as string;
    const { email } = await service.createUser({ carrier_id: 'c2' });
    expect((await service.patch(`/user/${own}`, { token: actor.token, body: { email } })).status).toBe(200);
    const { token } = await service.mailbox.take(email, /\/auth\/email\//);
    const confirm = () => service.post(`/auth/email/${token}`);
    expect((await confirm()).body.code).toBe('user.email_taken');
    await service.rows('update rate_limits set hits = $1', [limit]);
    expect((await confirm()).body.code).toBe('request.rate_limited');
    await service.rows('delete from rate_limits');
    expect((await confirm()).body.code).toBe('user.email_taken');
  });

  it('counts the conflicts of an undone deletion, and skips all further users after 100 (B25)', async () => {
    const undoneAfter = async (name: string, earlier: number) => {
      carrier = name;
      const actor = await login();
      const found = ['1', '2', '3', '4'].map((suffix) => `${name}-${suffix}`);
      for (const one of found) expect((await create(actor, row(one))).status).toBe(201);
      const deleted = await service.delete(`/user/all?name_in=${found.join()}&expected=4`, actor);
      expect(deleted.body.changed).toBe(4);
      await service.createUser({ name: `${name}-1`, carrier_id: carrier });
      await service.createUser({ name: `${name}-2` });
      await service.createUser({ email: `${name}-3@free.example` });
      await dryRun(actor, takenRows(earlier));
      const undo = () => service.post(`/user/operation/${deleted.body.operation_id}/undo`, actor);
      return { actor, undo, body: (await undo()).body };
    };
    const { actor, body } = await undoneAfter('undo-reported', limit - 2);
    expect(body).toMatchObject({ changed: 1, skipped_reasons: { 'user.name_taken': 2, 'user.email_taken': 1 } });
    expect((await create(actor, row('taken-1'))).status).toBe(429);
    const cut = await undoneAfter('undo-cut', limit - 1);
    const skipped_reasons = { 'user.name_taken': 2, 'request.rate_limited': 2 };
    expect(cut.body).toMatchObject({ changed: 0, processed: 4, skipped_count: 4, skipped_reasons });
    expect((cut.body.skipped as { reason: string }[]).map(({ reason }) => reason)).toEqual([
      'user.name_taken',
      'user.name_taken',
      'request.rate_limited',
      'request.rate_limited',
    ]);
    expect((await cut.undo()).status).toBe(429);
    await service.rows('delete from rate_limits');
    expect((await cut.undo()).body).toMatchObject({
      changed: 1,
      skipped_reasons: { 'user.name_taken': 2, 'user.email_taken': 1 },
    });
  });

  it('does not limit an actor who may list every user (B25)', async () => {
    const { body } = await dryRun(service.admin, takenRows(taken));
    expect(body.skipped_reasons).toEqual({ 'user.name_taken': taken });
    expect((await create(service.admin, row('taken-1'))).body.code).toBe('user.name_taken');
    const scoped = await login({ user_type: 'system', carrier_scope: [carrier] });
    expect((await dryRun(scoped, takenRows(taken))).body.skipped_reasons['user.name_taken']).toBe(limit);
    const unread = await login({ user_type: 'system' });
    expect((await dryRun(unread, takenRows(taken))).body.skipped_reasons['user.name_taken']).toBe(limit);
  });
});
