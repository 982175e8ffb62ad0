import { naughtyStrings, allNaughtyStrings } from '../../support/naughty-strings';
import { queryOperations } from '../../support/body-operations';
import { password, TestService } from '../../support/service';
import { unexpectedResponses } from '../../support/unexpected-responses';

describe('hostile texts', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  const patch = (body: unknown) => service.patch(`/user/${user_id}`, { token, body });
  const get = async () => (await service.get(`/user/${user_id}`, { token })).body;
  const is400 = ({ status }: { status: number }) => status === 400;

  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ user_id } = await service.createUser());
  });
  afterAll(() => service.close());

  it('counts length in code points: selectors, marks, joiners and astral characters (I11)', async () => {
    const units = {
      selector: '❤\ufe0f',
      mark: 'e\u0301',
      joiner: 'ර\u200dර\u0dca',
      astral: '\u{1F600}',
      hangul: '\u1100',
      plain: 'x',
    };
    for (const [label, unit] of Object.entries(units)) {
      const longest = unit.repeat(100 / [...unit].length);
      for (const field of ['first_name', 'last_name']) {
        expect([label, (await patch({ [field]: `${longest}x` })).status]).toEqual([label, 400]);
        expect([label, (await patch({ [field]: `a${unit.repeat(4_000)}` })).status]).toEqual([label, 400]);
        expect([label, (await patch({ [field]: longest })).status]).toEqual([label, 200]);
        expect((await get())[field]).toBe(longest);
      }
    }
    expect(await patch({ first_name: `a${'\ufe0f'.repeat(100_000)}` })).toMatchObject({ status: 413 });
    for (const field of ['name', 'phone', 'locale', 'timezone', 'email'])
      expect([field, (await patch({ [field]: `ada${'\ufe0f'.repeat(70)}` })).status]).toEqual([field, 400]);
    expect(await patch({ attributes: { k: '\ufe0f'.repeat(5_460) } })).toMatchObject({ status: 400 });
  });

  it('rejects invalid times in every time filter (I13)', async () => {
    const never = [
      '9999-12-31',
      '2026-02-30T00:00:00Z',
      '2023-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-00-01T00:00:00Z',
      '2026-01-00T00:00:00Z',
      '2026-04-31T12:00:00Z',
      '+275760-09-13T00:00:00Z',
      '+275761-01-01T00:00:00Z',
      '-000001-01-01T00:00:00Z',
      '10000-01-01T00:00:00Z',
      '9999-12-31T23:59:59-23:59',
      'infinity',
      '-infinity',
      'now',
      'today',
      'epoch',
      '0',
      '1763640000',
      '1763640000000',
      '2026-01-01T24:00:00Z',
      '2026-01-01T23:60:00Z',
      '2026-01-01T23:59:60Z',
      '2026-01-01T00:00:00',
      '2026-01-01 00:00:00Z',
      '2026-01-01T00:00:00+25:00',
      '2026-01-01T00:00:00+0100',
      '2026-01-01T00:00:00[Europe/Vienna]',
      '2026-01-01T00:00:00 UTC',
      '2026-W01-1T00:00:00Z',
      '20260101T000000Z',
      '2026-1-1T0:0:0Z',
      'Fri, 20 Nov 2026 13:00:00 GMT',
      '２０２６-01-01T00:00:00Z',
    ];
    const filters = queryOperations().flatMap(([method, path, names]) =>
      names
        .filter((name) => /_at(_|$)/.test(name) && !name.endsWith('_isnull'))
        .map((name) => ({ method, path, name })),
    );
    expect(filters.length).toBeGreaterThan(100);
    const probes = filters.flatMap((filter) =>
      (filter.name.endsWith('_gt') ? never : never.slice(0, 3)).map((value) => ({ ...filter, value })),
    );
    const send = ({ method, path, name, value }: (typeof probes)[number]) =>
      service.send(method, `${path}?${name}=${encodeURIComponent(value)}`, {
        token,
        ...(method === 'PATCH' ? { body: { locale: 'en' } } : {}),
      });
    expect(
      await unexpectedResponses(probes, ({ path, name, value }) => `${path} ${name} ${value}`, send, is400),
    ).toEqual([]);
    for (const value of [
      '2024-02-29T00:00:00Z',
      '9999-12-31T23:59:59.999Z',
      '0001-01-01T00:00:00Z',
      '2026-01-01T00:00:00.123456789+14:00',
      '2026-01-01T23:59:59-12:00',
    ])
      expect(await service.get(`/user/list?created_at_gt=${encodeURIComponent(value)}`, { token })).toMatchObject({
        status: 200,
      });
  });

  it('keeps naughty strings exactly and finds them again, or rejects them (I14)', async () => {
    expect(new Set(allNaughtyStrings).size).toBeGreaterThan(120);
    let kept = 0;
    for (const text of allNaughtyStrings) {
      const changed = await patch({
        first_name: text,
        last_name: `${text}${text}`,
        attributes: { k: text, list: [text], deep: { k: { k: text } } },
      });
      expect([text, [200, 400]]).toEqual([text, expect.arrayContaining([changed.status])]);
      if (changed.status === 400) continue;
      kept++;
      const user = await get();
      expect([user.first_name, user.last_name, user.attributes]).toEqual([
        text,
        text + text,
        { k: text, list: [text], deep: { k: { k: text } } },
      ]);
      for (const query of [
        `first_name=${encodeURIComponent(text)}`,
        `last_name_in=x,${encodeURIComponent((text + text).replace(/,.*/s, ''))}`,
        `attributes.k=${encodeURIComponent(text)}`,
      ]) {
        if (query.startsWith('last_name_in') && text.includes(',')) continue;
        const found = await service.get(`/user/list?user_id=${user_id}&${query}`, { token });
        expect([query, found.body.items?.length]).toEqual([query, 1]);
      }
    }
    expect(kept).toBeGreaterThan(120);
  });

  it('survives naughty strings as keys, names, addresses, ids and search words (I14)', async () => {
    const calm = ({ status }: { status: number }) => status < 500 && status !== 413;
    const rest = (text: string) => ({
      phone: text,
      locale: text,
      timezone: text,
      roles: [text],
      allowed_ips: [text],
      status: text,
    });
    const bodies = allNaughtyStrings.flatMap((text): object[] => [
      { attributes: { [text]: 1 } },
      { attributes: { [text]: null } },
      { name: text },
      { email: `a@${text}.com` },
      { [text]: 1 },
      rest(text),
    ]);
    expect(await unexpectedResponses(bodies, JSON.stringify, patch, calm)).toEqual([]);
    const names = (index: number) =>
      index % 4 === 0 ? ['q', 'email_like', 'role', 'carrier_id_ne', 'cursor', 'order_by'] : ['q', 'attributes.a'];
    const queries = allNaughtyStrings.flatMap((text, index) =>
      names(index).map((name) => `/user/list?count=none&${name}=${encodeURIComponent(text)}`),
    );
    expect(await unexpectedResponses(queries, String, (url) => service.get(url, { token }), calm)).toEqual([]);
    const unknown = allNaughtyStrings.map((text) => ({ url: `/user/list?${encodeURIComponent(text)}=1` }));
    expect(
      await unexpectedResponses(
        unknown,
        ({ url }) => url,
        ({ url }) => service.get(url, { token }),
        is400,
      ),
    ).toEqual([]);
  });

  it('finds no user and changes nothing by SQL and directory strings in every text filter (I16)', async () => {
    const strings = [
      ...(naughtyStrings['sql'] ?? []),
      ...(naughtyStrings['directories'] ?? []),
      "x' union select 1,2--",
      "'||pg_sleep(9)||'",
      "x'); delete from users; --",
    ];
    const before = await service.rows('select count(*)::int, max(version) from users');
    const texts = queryOperations()
      .filter(([method, , names]) => method === 'GET' && names.includes('count'))
      .flatMap(([, path, names]) =>
        names
          .filter((name) =>
            /^(name|email|first_name|last_name|phone|carrier_id|user_agent|event_type|request_id)(_in|_like)?$/.test(
              name,
            ),
          )
          .map((name) => `${path}?count=none&${name}=`),
      );
    expect(texts.length).toBeGreaterThan(15);
    for (const url of texts)
      for (const text of strings) {
        const answer = await service.get(`${url}never${encodeURIComponent(text.replace(/,/g, ''))}`, { token });
        expect([url, text, answer.status, answer.body.items]).toEqual([url, text, 200, []]);
      }
    expect(await service.rows('select count(*)::int, max(version) from users')).toEqual(before);
  });

  it('rejects control, bidirectional and zero-width characters in names (I18)', async () => {
    const hidden = [
      '\u0001',
      '\u0007',
      '\b',
      '\t',
      '\n',
      '\r',
      '\u001b[31m',
      '\u007f',
      '\u0085',
      '\u009b',
      '\u061c',
      '\u180e',
      '\u200b',
      '\u200e',
      '\u200f',
      '\u2028',
      '\u2029',
      '\u202a',
      '\u202e',
      '\u2060',
      '\u2066',
      '\u2069',
      '\ufeff',
      '\ufffb',
    ];
    const probes = hidden.flatMap((character) =>
      ['first_name', 'last_name', 'name', 'phone', 'locale', 'timezone', 'email'].flatMap((field) => [
        { [field]: `Ada${character}x` },
        { [field]: `${character}Ada` },
      ]),
    );
    expect(await unexpectedResponses(probes, JSON.stringify, patch, is400)).toEqual([]);
    for (const character of hidden)
      expect(
        await service.post('/auth/login', { body: { login: `admin@example.com${character}`, password } }),
      ).toMatchObject({
        status: 400,
      });
  });

  it('distinguishes absent, null and empty in PATCH (I19)', async () => {
    const full = {
      first_name: 'Ada',
      last_name: 'Lovelace',
      phone: '+4312345678',
      locale: 'de-AT',
      timezone: 'Europe/Vienna',
      roles: ['carrier_user'],
      allowed_ips: ['10.0.0.0/8'],
      attributes: { k: 1, keep: 2 },
      must_change_password: true,
    };
    expect(
      (await patch({ ...full, attributes: { ...full.attributes, a: null, list: null, deep: null } })).body,
    ).toMatchObject(full);
    const absent = await patch({});
    expect(absent.body).toMatchObject(full);
    expect(absent.body.version).toBe((await get()).version);
    for (const [field, cleared] of Object.entries({
      first_name: '',
      last_name: '',
      phone: null,
      locale: null,
      timezone: null,
    })) {
      const answer = await patch({ [field]: null });
      expect([field, answer.status, answer.body]).toEqual([field, 200, expect.objectContaining({ [field]: cleared })]);
    }
    for (const field of ['name', 'email', 'status', 'roles', 'allowed_ips', 'attributes', 'must_change_password'])
      expect([field, (await patch({ [field]: null })).body.errors]).toEqual([
        field,
        [expect.objectContaining({ pointer: `/${field}`, code: 'field.wrong_type' })],
      ]);
    for (const field of ['name', 'email', 'phone', 'locale', 'timezone', 'status'])
      expect([field, (await patch({ [field]: '' })).status]).toEqual([field, 400]);
    const emptied = await patch({ first_name: '', last_name: '', roles: [], allowed_ips: [], attributes: {} });
    expect(emptied.body).toMatchObject({
      first_name: '',
      last_name: '',
      roles: [],
      allowed_ips: [],
      attributes: { k: 1, keep: 2 },
      must_change_password: true,
    });
    expect((await patch({ attributes: { k: null } })).body.attributes).toEqual({ keep: 2 });
  });

  it('trims white space around addresses only, not in names of people or passwords (I20)', async () => {
    const secret = '  a quiet little password  ';
    const body = {
      user_type: 'carrier',
      carrier_id: 'c1',
      name: 'blanks',
      email: ' \t Blanks@EXAMPLE.com\u00a0',
      first_name: ' Ada ',
      password: secret,
      must_change_password: false,
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
      expect(await service.post('/auth/login', { body: { login: 'blanks', password: wrong } })).toMatchObject({
        status: 401,
      });
    await service.rows('update login_attempts set locked_until = null');
    expect(await service.login('blanks', secret)).toMatchObject({ user_id: created.body.user_id });
    for (const name of [' blanks2', 'blanks2 ', 'blanks 2', '\u00a0blanks2'])
      expect(await patch({ name })).toMatchObject({ status: 400 });
    expect(
      await service.post('/user/create', { token, body: { ...body, name: 'blanks2', email: 'blanks@example.com ' } }),
    ).toMatchObject({
      status: 409,
    });
    expect(await service.post('/auth/reset_email', { body: { email: ' blanks@example.com ' } })).toMatchObject({
      status: 202,
    });
    expect(await service.mailbox.take('Blanks@example.com')).toMatchObject({ token: expect.any(String) });
  });
});
