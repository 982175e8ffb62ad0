import { queryOperations } from '../support/body-operations';
import { allNaughtyStrings } from '../support/naughty-strings';
import { password, TestService } from '../support/service';
import { unexpectedResponses } from '../support/unexpected-responses';

describe('hostile texts', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  const patch = (body: unknown) => service.patch(`/user/${user_id}`, { token, body });
  const get = async () => (await service.get(`/user/${user_id}`, { token })).body;
  const is400 = ({ status }: { status: number }) => status === 400;
  const isHandled = ({ status }: { status: number }) => status < 500 && status !== 413;

  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ user_id } = await service.createUser());
  });
  afterAll(() => service.close());

  it.each([
    ['a selector', '❤\ufe0f'],
    ['a mark', 'e\u0301'],
    ['a joiner', 'ර\u200dර\u0dca'],
    ['an astral character', '\u{1F600}'],
  ])('are limited in code points, so that %s counts like a letter (I11)', async (_label, unit) => {
    const longest = unit.repeat(100 / [...unit].length);
    for (const first_name of [`${longest}x`, `a${unit.repeat(4_000)}`])
      expect((await patch({ first_name })).status).toBe(400);
    expect((await patch({ first_name: longest })).body.first_name).toBe(longest);
  });

  it('are limited in every text field, and in attributes (I11)', async () => {
    expect((await patch({ first_name: `a${'\ufe0f'.repeat(100_000)}` })).status).toBe(413);
    for (const field of ['name', 'phone', 'locale', 'timezone', 'email'])
      expect([field, (await patch({ [field]: `ada${'\ufe0f'.repeat(70)}` })).status]).toEqual([field, 400]);
    expect((await patch({ attributes: { k: '\ufe0f'.repeat(5_460) } })).status).toBe(400);
  });

  it('are rejected as times in every time filter (I13)', async () => {
    const filters = queryOperations().flatMap(([method, path, names]) =>
      names
        .filter((name) => /_at(_|$)/.test(name) && !name.endsWith('_isnull'))
        .map((name) => ({ method, path, name })),
    );
    expect(filters.length).toBeGreaterThan(100);
    const send = ({ method, path, name }: (typeof filters)[number]) => {
      const body = method === 'PATCH' ? { body: { locale: 'en' } } : {};
      return service.send(method, `${path}?${name}=2026-02-30T00:00:00Z`, { token, ...body });
    };
    expect(await unexpectedResponses(filters, ({ path, name }) => `${path} ${name}`, send, is400)).toEqual([]);
    expect((await service.get('/user/list?created_at_gt=0001-01-01T00:00:00Z', { token })).status).toBe(200);
  });

  it('have no control, bidirectional or invisible characters, so no name is a look-alike (I18)', async () => {
    // The tests of text-forms cover all characters.
    const hidden = [
      '\u0001',
      '\n',
      '\u001b[31m',
      '\u200b',
      '\u202e',
      '\u2066',
      '\ufeff',
      '\u3164',
      '\u{e0041}',
      '\u200d',
    ];
    const fields = [
      'first_name',
      'last_name',
      'name',
      'phone',
      'locale',
      'timezone',
      'email',
      'job_title',
      'department',
    ];
    const bodies = hidden.flatMap((character) => fields.map((field) => ({ [field]: `Ada${character}x` })));
    expect(await unexpectedResponses(bodies, JSON.stringify, patch, is400)).toEqual([]);

    const role = { name: 'seen', user_types: ['carrier'] };
    expect((await service.post('/role/create', { token, body: role })).status).toBe(201);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const requests = hidden.flatMap((character): [string, string, object][] => [
      ['POST', '/role/create', { ...role, name: 'unseen', description: `Ada${character}x` }],
      ['PATCH', '/role/seen', { description: `Ada${character}x` }],
      ['POST', '/auth/key/create', { name: `billing${character}x`, permissions: ['user:read'], expires_at }],
      ['POST', '/auth/login', { login: `admin@example.com${character}`, password }],
    ]);
    const send = ([method, url, body]: (typeof requests)[number]) => service.send(method, url, { token, body });
    expect(await unexpectedResponses(requests, JSON.stringify, send, is400)).toEqual([]);

    const inFile = hidden.filter((character) => character !== '\n');
    const rows = inFile.map((character, n) => `carrier,c1,hidden${n},hidden${n}@example.com,Ada${character}x`);
    const imported = await service.send('POST', '/user/import', {
      token,
      headers: { 'content-type': 'text/csv' },
      body: `user_type,carrier_id,name,email,first_name\n${rows.join('\n')}\n`,
    });
    expect(imported.body).toMatchObject({ changed: 0, skipped_count: inFile.length });
    for (const name of ['علی\u200cرضا', '👩🏽\u200d🚀', '❤\ufe0f\u200d🔥', 'O’Neill', '葛城'])
      expect((await patch({ first_name: name })).body.first_name).toBe(name);
  });

  it('are trimmed around addresses only, not in names of people or passwords (I20)', async () => {
    const secret = '  a quiet little password  ';
    const body = {
      ...{ user_type: 'carrier', carrier_id: 'c1', name: 'blanks', email: ' \t Blanks@EXAMPLE.com\u00a0' },
      ...{ first_name: ' Ada ', password: secret, must_change_password: false },
    };
    const created = await service.post('/user/create', { token, body });
    expect(created.body).toMatchObject({ email: 'Blanks@example.com', first_name: ' Ada ' });
    for (const wrong of [
      secret.trim(),
      secret.trimStart(),
      secret.trimEnd(),
      `${secret} `,
      secret.replace(/ /g, '\u00a0'),
    ])
      expect((await service.post('/auth/login', { body: { login: 'blanks', password: wrong } })).status).toBe(401);
    await service.rows('update login_attempts set locked_until = null');
    expect(await service.login('blanks', secret)).toMatchObject({ user_id: created.body.user_id });
    for (const name of [' blanks2', 'blanks2 ', 'blanks 2', '\u00a0blanks2'])
      expect((await patch({ name })).status).toBe(400);
    const same = { ...body, name: 'blanks2', email: 'blanks@example.com ' };
    expect((await service.post('/user/create', { token, body: same })).status).toBe(409);
    expect((await service.post('/auth/reset_email', { body: { email: ' blanks@example.com ' } })).status).toBe(202);
    expect((await service.mailbox.take('Blanks@example.com')).token).toEqual(expect.any(String));
  });

  describe('from the list of naughty strings', () => {
    it('are kept exactly and found again, or rejected (I14)', async () => {
      let kept = 0;
      for (const text of new Set(allNaughtyStrings)) {
        const values = {
          first_name: text,
          last_name: `${text}${text}`,
          attributes: { k: text, list: [text], deep: { k: text } },
        };
        const changed = await patch(values);
        expect([text, [200, 400]]).toEqual([text, expect.arrayContaining([changed.status])]);
        if (changed.status === 400) continue;
        kept++;
        expect(await get()).toMatchObject(values);
        const value = encodeURIComponent(text);
        const query = `user_id=${user_id}&first_name=${value}&attributes.k=${value}`;
        expect([query, (await service.get(`/user/list?${query}`, { token })).body.items?.length]).toEqual([query, 1]);
      }
      expect(kept).toBeGreaterThan(120);
    });

    it('break nothing as keys, names, addresses, ids and search words (I14)', async () => {
      const bodies = allNaughtyStrings.flatMap((text): object[] => [
        { attributes: { [text]: 1 } },
        { name: text },
        { email: `a@${text}.com` },
        { [text]: 1 },
        { phone: text, locale: text, timezone: text, roles: [text], allowed_ips: [text], status: text },
      ]);
      expect(await unexpectedResponses(bodies, JSON.stringify, patch, isHandled)).toEqual([]);
      const parameters = ['q', 'attributes.a', 'email_like', 'role', 'carrier_id_ne', 'cursor', 'order_by'];
      const queries = allNaughtyStrings.flatMap((text, index) =>
        ['q', parameters[index % parameters.length]].map(
          (name) => `/user/list?count=none&${name}=${encodeURIComponent(text)}`,
        ),
      );
      const read = (url: string) => service.get(url, { token });
      expect(await unexpectedResponses(queries, String, read, isHandled)).toEqual([]);
      const unknown = allNaughtyStrings.map((text) => `/user/list?${encodeURIComponent(text)}=1`);
      expect(await unexpectedResponses(unknown, String, read, is400)).toEqual([]);
    });
  });
});
