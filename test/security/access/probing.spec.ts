import { errorsIn } from '../../support/imports';
import { addManyUsers, ended } from '../../support/many-users';
import { type TestLogin, TestService } from '../../support/service';

/** Conflicts per actor and hour that the service reports with their field. */
const limit = 1_000;
const taken = 1_200;

describe('probing for names and addresses of other carriers', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await addManyUsers(service, taken, 'c2', 'taken');
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('prober', '{carrier}', '{user:import,user:create,user:update,user:delete}')`);
  });
  afterAll(() => service.close());

  const login = () => service.loginAs({ roles: ['prober'] });
  const row = (name: string, more: object = {}) => ({
    user_type: 'carrier',
    name,
    email: `${name}@free.example`,
    carrier_id: 'c1',
    ...more,
  });
  const takenRows = (count: number, from = 1) => Array.from({ length: count }, (_, i) => row(`taken-${from + i}`));
  const freeRows = (count: number, prefix: string) => Array.from({ length: count }, (_, i) => row(`${prefix}-${i}`));
  const send = ({ token }: TestLogin, rows: object[], query = '') =>
    service.post(`/user/import?${query}`, {
      token,
      body: rows.map((one) => JSON.stringify(one)).join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
  const dryRun = (actor: TestLogin, rows: object[], query = '') => send(actor, rows, `dry_run=true&${query}`);
  const create = ({ token }: TestLogin, more: object) => service.post('/user/create', { token, body: more });
  /** Returns an actor who has reached the limit of conflicts. */
  const exhausted = async () => {
    const actor = await login();
    await dryRun(actor, takenRows(limit));
    return actor;
  };

  it('reports conflicts with users in the scope of the actor without limit (B25)', async () => {
    const actor = await login();
    await addManyUsers(service, taken, 'c1', 'own-synced');
    const rows = Array.from({ length: taken }, (_, i) => row(`own-synced-${1 + i}`));
    for (const query of ['on_conflict=skip', 'dry_run=true&on_conflict=skip'])
      expect((await send(actor, rows, query)).body).toMatchObject({ unchanged: taken, skipped_count: 0, skipped: [] });
    for (const query of ['', 'dry_run=true'])
      expect((await send(actor, rows, query)).body.skipped_reasons).toEqual({ 'user.name_taken': taken });
    expect((await create(actor, row('after-sync'))).status).toBe(201);
    const mixed = [...takenRows(limit + 1), rows[0] as object, row('mixed-free')];
    const codes = { 'user.name_taken': limit + 1, 'field.conflict': 2 };
    expect((await dryRun(await login(), mixed)).body.skipped_reasons).toEqual(codes);
    const imported = (await send(actor, mixed)).body;
    expect(imported.changed).toBe(1);
    expect(imported.skipped_reasons).toEqual({ ...codes, 'field.conflict': 1 });
    const later = errorsIn((await send(actor, [row('taken-1'), rows[0] as object])).body);
    expect(later.map(({ code }) => code)).toEqual(['field.conflict', 'user.name_taken']);
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
    const target = { target_type: 'user', target_id: null, carrier_id: 'c1' };
    expect(events).toEqual([{ event_type: 'user.import_previewed', actor_type: 'user', ...target, changes }]);
  });

  it('stops checking a dry run after 1,000 conflicts, so that taken and free names look alike (B25)', async () => {
    const rows = [...freeRows(50, 'before'), ...takenRows(taken), ...freeRows(50, 'after')];
    const { status, body } = await dryRun(await login(), rows);
    expect([status, body.would_create, body.skipped_count]).toEqual([200, 50, taken + 50]);
    expect(body.skipped_reasons).toEqual({ 'user.name_taken': limit, 'field.conflict': taken - limit + 50 });
    const hidden = errorsIn(body).filter(({ code }) => code === 'field.conflict');
    expect(hidden[0]?.line).toBe(50 + limit + 1);
    expect(new Set(hidden.map(({ line: _, ...rest }) => JSON.stringify(rest))).size).toBe(1);
    expect(hidden[0]?.pointer).toBe('');
  });

  it('counts the rows that a dry run would skip, and stops checking after 1,000 of them (B25)', async () => {
    const actor = await login();
    const { body } = await dryRun(actor, [...takenRows(taken), ...freeRows(50, 'skip')], 'on_conflict=skip');
    expect([body.would_create, body.unchanged, body.skipped_reasons]).toEqual([
      0,
      limit,
      { 'field.conflict': taken - limit + 50 },
    ]);
    expect((await dryRun(actor, [row('taken-1')], 'on_conflict=skip')).status).toBe(429);
  });

  it('rejects every request that can reveal a conflict after 1,000 conflicts of an actor (B25)', async () => {
    const actor = await login();
    const own = (await create(actor, row('own'))).body.user_id as string;
    const deleted = (await create(actor, row('own-deleted'))).body.user_id as string;
    expect((await service.delete(`/user/${deleted}`, actor)).status).toBe(204);
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
    ];
    expect(answers.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
      answers.map(() => '429 request.rate_limited'),
    );
    expect(new Set(answers.map(({ body }) => body.detail)).size).toBe(1);
    for (const { headers } of answers) {
      expect(Number(headers['retry-after'])).toBeGreaterThan(3_500);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(3_600);
    }
    expect((await patch({ first_name: 'Ada' })).status).toBe(200);
    expect((await create(await login(), row('taken-1'))).body.code).toBe('user.name_taken');
  });

  it('counts conflicts of single requests although their transactions roll back (B25)', async () => {
    const actor = await login();
    const own = (await create(actor, row('single'))).body.user_id as string;
    await dryRun(actor, takenRows(limit - 3));
    const patch = (body: object) => service.patch(`/user/${own}`, { token: actor.token, body });
    const codes = [];
    for (const answer of [
      () => create(actor, row('taken-1')),
      () => patch({ name: 'taken-2' }),
      () => patch({ email: 'taken-3@example.com' }),
      () => patch({ name: 'taken-4' }),
    ])
      codes.push((await answer()).body.code);
    expect(codes).toEqual(['user.name_taken', 'user.name_taken', 'user.email_taken', 'request.rate_limited']);
  });

  it('hides the field of conflicts of an import after 1,000, and still creates the free rows (B25)', async () => {
    const actor = await exhausted();
    const id = service.admin.user_id;
    const rows = [
      row('taken-1'),
      row('imported-1'),
      row('imported-2', { email: 'taken-2@example.com' }),
      row('imported-3', { user_id: id }),
    ];
    const { body } = await send(actor, rows);
    expect(body.changed).toBe(1);
    const hiddenField = { pointer: '', code: 'field.conflict', detail: expect.any(String) as string };
    expect(errorsIn(body)).toEqual([1, 3, 4].map((line) => ({ line, ...hiddenField })));
    expect(new Set(errorsIn(body).map(({ detail }) => detail)).size).toBe(1);
    const skipped = await send(actor, [row('taken-1'), row('imported-4')], 'on_conflict=skip');
    expect(skipped.body).toMatchObject({ changed: 1, unchanged: 1, skipped: [] });
  });

  it('counts conflicts of an import in the background, and hides their field in the operation (B25)', async () => {
    const actor = await login();
    const md5 = (name: string) => row(name, { password_hash: 'd41d8cd98f00b204e9800998ecf8427e' });
    await dryRun(actor, takenRows(limit - 1));
    const accepted = await send(actor, [...takenRows(1), ...takenRows(101, 2).map(({ name }) => md5(name))]);
    expect(accepted.status).toBe(202);
    const operation = await ended(service, accepted.body.operation_id, actor.token);
    expect(operation).toMatchObject({ status: 'done', changed: 0, skipped_count: 102 });
    expect(operation.skipped_reasons).toEqual({ 'user.name_taken': 1, 'field.conflict': 101 });
    const [stored] = await service.rows<{ skipped: string }>(
      'select skipped::text as skipped from operations where operation_id = $1',
      [operation.operation_id],
    );
    expect(stored?.skipped.match(/"reason": "user.name_taken"/g)).toHaveLength(1);
    const kept = 'select line from operation_skipped where operation_id = $1 and errors::text like $2';
    expect(await service.rows(kept, [operation.operation_id, '%name_taken%'])).toEqual([{ line: 1 }]);
  });

  it('reports 1,000 conflicts in total to parallel dry runs of one actor (B25)', async () => {
    const actor = await login();
    const runs = await Promise.all(Array.from({ length: 20 }, () => dryRun(actor, takenRows(900))));
    const reported = runs
      .map(({ body }) => (body.skipped_reasons as Record<string, number> | undefined)?.['user.name_taken'] ?? 0)
      .reduce((sum, count) => sum + count);
    expect(reported).toBe(limit);
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
    const own = (await create(actor, row('confirming', { password: 'correct horse battery staple' }))).body
      .user_id as string;
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

  it('counts the conflicts of an undone deletion, and hides their field after 1,000 (B25)', async () => {
    const undoneAfter = async (name: string, earlier: number) => {
      const actor = await login();
      for (const suffix of ['1', '2', '3']) expect((await create(actor, row(`${name}-${suffix}`))).status).toBe(201);
      const found = ['1', '2', '3'].map((suffix) => `${name}-${suffix}`).join();
      const deleted = await service.delete(`/user/all?name_in=${found}&expected=3`, actor);
      expect(deleted.body.changed).toBe(3);
      await service.createUser({ name: `${name}-1` });
      await service.createUser({ email: `${name}-2@free.example` });
      await dryRun(actor, takenRows(earlier));
      const { body } = await service.post(`/user/operation/${deleted.body.operation_id}/undo`, actor);
      return { body, probed: await create(actor, row('taken-1')) };
    };
    const { body, probed } = await undoneAfter('undo-reported', limit - 2);
    expect(body).toMatchObject({ changed: 1, skipped_reasons: { 'user.name_taken': 1, 'user.email_taken': 1 } });
    expect(probed.status).toBe(429);
    const hidden = (await undoneAfter('undo-hidden', limit)).body;
    expect(hidden).toMatchObject({ changed: 1, skipped_count: 2, skipped_reasons: { 'field.conflict': 2 } });
    expect((hidden.skipped as { reason: string }[]).map(({ reason }) => reason)).toEqual([
      'field.conflict',
      'field.conflict',
    ]);
  });

  it('does not limit an actor who may list every user (B25)', async () => {
    const { body } = await dryRun(service.admin, takenRows(taken));
    expect(body.skipped_reasons).toEqual({ 'user.name_taken': taken });
    expect((await create(service.admin, row('taken-1'))).body.code).toBe('user.name_taken');
    const unlisted = await service.loginAs({ user_type: 'system', roles: ['administrator'], carrier_scope: ['c1'] });
    expect((await dryRun(unlisted, takenRows(taken))).body.skipped_reasons['user.name_taken']).toBe(limit);
  });
});
