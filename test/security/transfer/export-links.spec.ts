import { Database } from '../../../src/database/database';
import { createKey } from '../../support/keys';
import { type TestAnswer, type TestLogin, TestService } from '../../support/service';
import { until } from '../../support/until';

describe('links to exports', () => {
  let service: TestService;
  let base: string;
  beforeAll(async () => {
    service = await TestService.start();
    base = (await service.listen()).url;
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('exporter', '{system,carrier}', '{user:export}'), ('purger', '{system}', '{user:export,user:purge}')`);
  });
  afterAll(() => service.close());

  const exporter = (fields: object = {}) => service.loginAs({ user_type: 'system', roles: ['exporter'], ...fields });
  const linkOf = async ({ token }: TestLogin, query = ''): Promise<string> => {
    const { status, body } = await service.post(`/user/export/link?${query}`, { token });
    expect(status).toBe(201);
    return new URL(body.url as string).pathname;
  };
  /** Returns the ids in a CSV file. */
  const idsIn = ({ text }: TestAnswer) =>
    text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => line.split(',')[0]);
  const outcome = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();
  const invalid = '404 export.link_invalid';

  it('downloads the file of the export once, without an access token, and records the event (R9)', async () => {
    const login = await exporter();
    const { name, user_id } = await service.createUser({ first_name: 'Zoë' });
    const query = `user_id=${user_id}&format=ndjson`;
    const asked = Date.now();
    const { status, body } = await service.post(`/user/export/link?${query}`, { token: login.token });
    expect([status, body.url]).toEqual([
      201,
      expect.stringMatching(/^http:\/\/localhost:3000\/user\/export\/[\w-]{43}$/),
    ]);
    expect(Math.abs(Date.parse(body.expires_at) - asked - 60_000)).toBeLessThan(10_000);
    const path = new URL(body.url as string).pathname;

    const file = await service.get(path, { ip: '198.51.100.7' });
    expect(file.headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': expect.stringMatching(/^attachment; filename="users-\d{8}T\d{6}Z\.ndjson"$/),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    expect(file.text).toContain(`"name":"${name}"`);
    expect(file.text).toBe((await service.get(`/user/export?${query}`, login)).text);
    expect(outcome(await service.get(path))).toBe(invalid);
    expect(outcome(await service.get(path, login))).toBe(invalid);
    const { body: events } = await service.get(
      `/audit/list?event_type=user.exported&actor_id=${login.user_id}`,
      service.admin,
    );
    expect(
      events.items.map(({ ip, session_id, changes }: Record<string, unknown>) => ({ ip, session_id, changes })),
    ).toEqual(
      ['127.0.0.1', '198.51.100.7'].map((ip) => ({
        ip,
        session_id: login.session_id,
        changes: {
          count: { after: 1 },
          format: { after: 'ndjson' },
          hashes: { after: false },
          filter: { after: ['user_id'] },
        },
      })),
    );
  });

  it('downloads the file once when 50 connections use the link at the same time (R10)', async () => {
    for (let round = 0; round < 5; round++) {
      const path = await linkOf(await exporter());
      const answers = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const answer = await fetch(base + path);
          return `${answer.status} ${(await answer.text()).includes(service.admin.user_id)}`;
        }),
      );
      expect(answers.filter((answer) => answer === '200 true')).toHaveLength(1);
      expect(answers.filter((answer) => answer === '404 false')).toHaveLength(49);
    }
  });

  it('keeps the link valid when other methods or changed paths are requested (R19)', async () => {
    const path = await linkOf(await exporter());
    for (const method of ['HEAD', 'OPTIONS', 'POST', 'DELETE'])
      expect([method, (await service.app.inject({ method: method as 'HEAD', url: path })).statusCode]).toEqual([
        method,
        405,
      ]);
    for (const changed of [`${path}x`, path.slice(0, -1), `${path}/`, `${path}?a=1`])
      expect((await service.get(changed)).status).not.toBe(200);
    expect((await service.get(path)).status).toBe(200);
  });

  it('rejects a link after 60 seconds, and a link that a newer one replaced (R12, R13)', async () => {
    const login = await exporter();
    const path = await linkOf(login);
    await service.rows(
      `
        update export_links
        set expires_at = expires_at - interval '60 seconds'
        where session_id = $1`,
      [login.session_id],
    );
    expect(outcome(await service.get(path))).toBe(invalid);
    const [older, newer] = [await linkOf(login), await linkOf(login)];
    expect(outcome(await service.get(older))).toBe(invalid);
    expect((await service.get(newer)).status).toBe(200);
  });

  it('rejects a leaked link after the logout, and after the user is disabled or deleted (S2)', async () => {
    const ends: Record<string, (login: TestLogin) => Promise<TestAnswer>> = {
      logout: ({ token }) => service.post('/auth/logout', { token }),
      disabled: ({ user_id }) =>
        service.patch(`/user/${user_id}`, { token: service.admin.token, body: { status: 'disabled' } }),
      deleted: ({ user_id }) => service.delete(`/user/${user_id}`, service.admin),
      revoked: ({ session_id }) => service.delete(`/auth/session/${session_id}`, service.admin),
    };
    for (const [name, end] of Object.entries(ends)) {
      const login = await exporter();
      const path = await linkOf(login);
      expect([name, (await end(login)).status < 300]).toEqual([name, true]);
      expect([name, outcome(await service.get(path))]).toEqual([name, invalid]);
    }
  });

  it('exports what the user may export when the link is used, not when it was created (Z4)', async () => {
    const mine = await service.createUser({ carrier_id: 'c1' });
    const other = await service.createUser({ carrier_id: 'c2' });
    const query = `user_id_in=${mine.user_id},${other.user_id}`;
    const inScope = await exporter({ roles: ['exporter'], user_type: 'carrier', carrier_id: 'c1' });
    expect(idsIn(await service.get(await linkOf(inScope, query)))).toEqual([mine.user_id]);

    const narrowed = await exporter();
    const path = await linkOf(narrowed, query);
    const change = (body: object) => service.patch(`/user/${narrowed.user_id}`, { token: service.admin.token, body });
    expect((await change({ carrier_scope: ['c2'] })).status).toBe(200);
    expect(idsIn(await service.get(path))).toEqual([other.user_id]);

    const demoted = await linkOf(narrowed, query);
    expect((await change({ roles: [] })).status).toBe(200);
    expect(outcome(await service.get(demoted))).toBe('403 access.denied');
    expect((await change({ roles: ['exporter'] })).status).toBe(200);
    expect(outcome(await service.get(demoted))).toBe(invalid);
  });

  it('requires user:purge and a fresh authentication for hashes, again when the link is used (P10)', async () => {
    const query = 'format=ndjson&hashes=true';
    const denied = await service.post(`/user/export/link?${query}`, { token: (await exporter()).token });
    expect(outcome(denied)).toBe('403 access.denied');
    const login = await exporter({ roles: ['purger'] });
    expect((await service.get(await linkOf(login, query))).text).toContain('"password_hash":"$argon2id$');

    const links = [await linkOf(login, query)];
    await service.rows(
      `
        update sessions
        set auth_time = now() - interval '10 minutes'
        where session_id = $1`,
      [login.session_id],
    );
    expect(outcome(await service.get(links[0] ?? ''))).toBe('401 auth.reauthentication_required');
    const later = await service.post(`/user/export/link?${query}`, { token: login.token });
    expect(outcome(later)).toBe('401 auth.reauthentication_required');
  });

  it('returns no link to API keys, without the permission, or for an invalid query (Z2)', async () => {
    const create = (token: string, query = '') => service.post(`/user/export/link?${query}`, { token });
    const { key } = await createKey(service, ['*']);
    expect(outcome(await create(key))).toBe('403 access.denied');
    expect(outcome(await create((await service.loginAs({ user_type: 'system' })).token))).toBe('403 access.denied');
    const { token } = await exporter();
    for (const query of ['nmae=ada', 'format=xml', 'hashes=maybe', 'order_by=name', 'per_page=1'])
      expect([query, (await create(token, query)).status]).toEqual([query, 400]);
  });

  it('counts a download as the one export that a caller may have', async () => {
    const login = await exporter();
    const path = await linkOf(login);
    const running = await service.app.get(Database).openSnapshot(login.user_id, new AbortController().signal);
    expect(outcome(await service.get(path))).toBe('429 request.rate_limited');
    await running.close();
    expect((await service.get(await linkOf(login))).status).toBe(200);
  });

  it('stores no token, and removes the filters of expired links (R21)', async () => {
    const login = await exporter();
    const path = await linkOf(login, 'email=someone%40example.com');
    const stored = () =>
      service.rows('select export_links::text as row from export_links where session_id = $1', [login.session_id]);
    const [row] = await stored();
    expect(row?.['row']).toContain('someone@example.com');
    expect(row?.['row']).not.toContain(path.split('/').at(-1));
    await service.rows('update export_links set expires_at = now()');
    await service.rows(`select graphile_worker.add_job('remove-expired-export-links')`);
    await until(async () => (await stored()).length === 0);
  });
});
