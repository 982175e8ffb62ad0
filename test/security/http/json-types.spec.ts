import { type BodyField, type BodyOperation, bodyOperations } from '../../support/body-operations';
import { TestService } from '../../support/service';
import { unexpectedResponses } from '../../support/unexpected-responses';

const json = { 'content-type': 'application/json' };

/** Wrong types for a field of each type. */
const wrong: Record<BodyField['type'], unknown[]> = {
  string: [true, 0, 1.5, [], ['x'], {}, { a: 1 }],
  boolean: ['true', '', 0, 1, [], [true], {}],
  array: ['x', '', 0, true, {}, { 0: 'x' }, [1], [null], [[]], [{}], ['x', ['y']]],
  object: ['x', '{}', 0, true, [], [{}]],
  choice: [true, 0, 1.5, {}, { 0: 'x' }, [1], [null], [[]], [{}]],
};

describe('values of the wrong type or size', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  let operations: BodyOperation[];
  const each = (): [BodyOperation, BodyField][] =>
    operations.flatMap((operation) => operation.fields.map((field) => [operation, field] as never));
  const send = (operation: Pick<BodyOperation, 'method' | 'url'>, body: string) =>
    service.send(operation.method, operation.url, { token, body, headers: json });
  const patch = (body: string) => send({ method: 'PATCH', url: `/user/${user_id}` }, body);
  const is400 = ({ status }: { status: number }) => status === 400;
  const at = ([operation, field]: [BodyOperation, BodyField]) => `${operation.method} ${operation.url} ${field.name}`;

  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ user_id } = await service.createUser({ attributes: { kept: 1 } }));
    operations = bodyOperations(user_id);
    expect(each().length).toBeGreaterThan(40);
  });
  afterAll(() => service.close());

  it('rejects numbers for texts and booleans, and numbers that JSON parsers read differently (I9)', async () => {
    const numbers = [
      '1e400',
      '-1e400',
      '9007199254740993',
      '-9007199254740993',
      '1.7976931348623159e308',
      '18446744073709551616',
    ];
    expect(
      await unexpectedResponses(numbers, String, (number) => patch(`{"attributes":{"n":${number}}}`), is400),
    ).toEqual([]);
    expect(
      await unexpectedResponses(numbers, String, (number) => patch(`{"attributes":{"n":[{"deep":${number}}]}}`), is400),
    ).toEqual([]);
    for (const [text, number] of [
      ['-0', 0],
      ['1.0', 1],
      ['1E2', 100],
      ['9007199254740991', Number.MAX_SAFE_INTEGER],
      ['0.1', 0.1],
      ['1e-7', 1e-7],
      ['5e-324', 5e-324],
    ] as const) {
      const answer = await patch(`{"attributes":{"n":${text}}}`);
      expect([text, answer.status, answer.body.attributes.n]).toEqual([text, 200, number]);
    }
    const scalars = each().filter(([, { type }]) => type !== 'object' && type !== 'array');
    for (const number of ['0', '1', '-0', '1.0', '1e400', '9007199254740993'])
      expect(
        await unexpectedResponses(
          scalars,
          (one) => `${at(one)} ${number}`,
          ([operation, { name }]) => send(operation, `{"${name}":${number}}`),
          is400,
        ),
      ).toEqual([]);
    await patch('{"attributes":{"n":null}}');
  });

  it('rejects every wrong type in every field of every body, by its pointer (I10, L15)', async () => {
    const probes = each().flatMap(([operation, field]) =>
      [...wrong[field.type], ...(field.nullable ? [] : [null])].map((value) => ({ operation, field, value })),
    );
    expect(probes.length).toBeGreaterThan(300);
    const found: string[] = [];
    for (const { operation, field, value } of probes) {
      const answer = await send(operation, JSON.stringify({ [field.name]: value }));
      const named = (answer.body?.errors as { pointer: string; code: string }[] | undefined)?.find(
        ({ pointer }) => pointer === `/${field.name}`,
      );
      if (answer.status !== 400 || named?.code !== 'field.wrong_type')
        found.push(`${operation.url} ${field.name}=${JSON.stringify(value)} → ${answer.text}`);
    }
    expect(found).toEqual([]);
    const whole = operations.flatMap((operation) =>
      ['[]', '"x"', '1', 'null', 'true', '[{}]'].map((body) => ({ operation, body })),
    );
    expect(
      await unexpectedResponses(
        whole,
        ({ operation, body }) => `${operation.url} ${body}`,
        ({ operation, body }) => send(operation, body),
        is400,
      ),
    ).toEqual([]);
  });

  it('rejects integer overflow in page numbers, counts and versions (I12)', async () => {
    const never = [
      '-1',
      '2147483648',
      '4294967296',
      '9223372036854775807',
      '9223372036854775808',
      '1e3',
      '0x10',
      '1.0',
      '%201',
      '%2B1',
      '01',
      '%EF%BC%91',
      'NaN',
      'Infinity',
      '-0',
      '',
    ];
    const probes = [
      '/user/list?per_page=',
      '/user/list?per_page=1&page=',
      '/audit/list?page=',
      '/auth/session/list?per_page=',
    ].flatMap((url) => [...never, '0'].map((value) => url + value));
    expect(await unexpectedResponses(probes, String, (url) => service.get(url, { token }), is400)).toEqual([]);
    const expected = never.map((value) => `/user/all?user_id=${user_id}&expected=${value}`);
    expect(await unexpectedResponses(expected, String, (url) => service.delete(url, { token }), is400)).toEqual([]);
    for (const version of ['2147483648', '9223372036854775808', '99999999999999999999', '-1', '1e0', '1.0'])
      expect(
        await service.patch(`/user/${user_id}`, {
          token,
          body: { first_name: 'x' },
          headers: { 'if-match': `"${version}"` },
        }),
      ).toMatchObject({ status: 412 });
    expect((await service.get(`/user/${user_id}`, { token })).status).toBe(200);
  });

  it('rejects a nested object where a column is expected (I21)', async () => {
    const nested: object[] = [
      { first: 'x', role: 'admin' },
      { $ne: '' },
      { toString: 'x' },
      { length: 3 },
      { '': 'x' },
      { raw: 'now()' },
    ];
    const before = await service.rows('select count(*)::int as users, max(version) as version from users');
    for (const operation of operations)
      for (const { name, type } of operation.fields.filter((field) => field.type !== 'object'))
        for (const value of nested) {
          const answer = await send(operation, JSON.stringify({ [name]: type === 'array' ? [value] : value }));
          expect([operation.url, name, answer.status]).toEqual([operation.url, name, 400]);
        }
    expect(await service.rows('select count(*)::int as users, max(version) as version from users')).toEqual(before);
  });
});
