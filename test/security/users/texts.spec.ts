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
