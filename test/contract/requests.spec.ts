import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { errorCodes } from '../../src/http/errors/error-codes';
import { document, type Parameter, type RequestBody, type Schema } from '../support/contract/document';
import { type TestAnswer, TestService } from '../support/service';

interface Operation {
  method: string;
  path: string;
  parameters: Parameter[];
  body: RequestBody | undefined;
}

const ajv = new Ajv2020({ strict: false });
addFormats(ajv);
const { schemas } = document.components;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]): Operation => {
    const { parameters = [], requestBody: body } = operation;
    return { method: method.toUpperCase(), path, parameters: parameters.filter((one) => one.in === 'query'), body };
  }),
);
/** The operations with the text fields of their bodies. Equal fields appear once. */
const seenFields = new Set<string>();
const bodies = operations.flatMap((operation) => {
  const name = operation.body?.content['application/json']?.schema.$ref?.split('/').at(-1) ?? '';
  const fields = Object.entries(schemas[name]?.properties ?? {}).filter(([field, schema]) => {
    const form = JSON.stringify([field, schema]);
    const types = [(schema.items ?? schema).type ?? []].flat();
    // Addresses are normalised before validation, so more is accepted than the schema shows.
    if (field === 'email' || !types.includes('string') || seenFields.has(form)) return false;
    return seenFields.add(form);
  });
  return fields.length === 0 ? [] : [{ ...operation, fields }];
});
/**
 * One query parameter of each schema, by operation. The service itself makes the tokens, and
 * decides about `deleted`.
 */
const queries = new Map<Operation, Parameter[]>();
const seenSchemas = new Set(['cursor', 'confirm_token', 'deleted']);
for (const operation of operations)
  for (const parameter of operation.parameters) {
    const form = JSON.stringify(parameter.schema);
    if (seenSchemas.has(form) || seenSchemas.has(parameter.name)) continue;
    seenSchemas.add(form);
    queries.set(operation, [...(queries.get(operation) ?? []), parameter]);
  }

/** Free text: any characters, with more invisible ones than chance would give. */
const freeText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('a', 'ع', '\u200d', '\ufe0f', '\u{e0101}'),
  ),
  maxLength: 9,
});
/** Texts near the limits of request fields and parameters. */
const texts = fc.oneof(
  freeText,
  fc.constantFrom(
    ...['', 'a', 'ada', 'Ada Lovelace', 'a\u00adb', '\u3164', '\u{e0041}', 'a\u200db', 'ع\u200dر', '❤\ufe0f', 'tab\t'],
    ...['de', 'de-AT', 'de-DE-u-co-phonebk', 'de-DE-1996-1996', 'x-y', 'en-u', 'Europe/Vienna', 'Mars/Base', '.a'],
    ...['+4312345678', '+0', '10.0.0.0/8', '::1/129', '1.2.3.4/33', '::1', 'user:read', '*', 'user:*', 'list'],
    ...['true', 'TRUE', '1', '0', '-1', '01', '1.0', '1e3', '500', '501', '999999999', '1000000000', 'asc', 'exact'],
    ...['a,b', 'true,false', 'system,', ',', 'urn:uuid:00000000-0000-4000-8000-000000000001'],
  ),
  fc.uuid(),
  fc
    .tuple(
      fc.constantFrom('2024-02-29', '2023-02-29', '2026-13-01', '0000-02-01', '2026-04-1'),
      fc.constantFrom('', 'T00:00:00', 't00:00:00', ' 00:00:00', 'T23:59:59.1234567890', 'T24:00:00', 'T23:59:60'),
      fc.constantFrom('', 'Z', 'z', '+14:00', '+24:00', '+1:00', '+0100', '-00:60', ' UTC'),
    )
    .map((parts) => parts.join('')),
  fc
    .tuple(fc.constantFrom('a', 'é'), fc.constantFrom(16, 17, 64, 65, 100, 101, 128, 254, 255, 256, 257, 500, 501))
    .map(([unit, count]) => unit.repeat(count)),
  fc.constantFrom(512, 513, 1_024, 1_025).map((count) => 'x'.repeat(count)),
  fc.constantFrom(256, 257).map((count) => '\u{1F600}'.repeat(count)),
  fc
    .tuple(fc.constantFrom(499, 500, 501), fc.constantFrom(1, 1_000))
    .map(([length, different]) => Array.from({ length }, (_, index) => `a${index % different}`).join(',')),
);

// No schema can express that an offset leaves the accepted years, so not the ends of the calendar.
const realTimes = fc
  .date({ min: new Date('0000-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true })
  .map((time) => time.toISOString());

/** Returns texts that a schema accepts, or that are close to it. */
function fitting({
  type,
  items,
  enum: values,
  const: constant,
  pattern,
  format,
  minLength = 0,
  maxLength,
}: Schema): fc.Arbitrary<string> {
  if (items !== undefined) return fc.array(fitting(items), { minLength: 1, maxLength: 4 }).map((list) => list.join());
  if (values !== undefined || constant !== undefined) return fc.constantFrom(...(values ?? [constant ?? '']));
  if (type === 'boolean') return fc.constantFrom('true', 'false');
  if (type === 'integer') return fc.integer({ min: 0, max: 500 }).map(String);
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time') return realTimes;
  if (maxLength === 49) return fc.oneof(fc.ipV4(), fc.ipV6());
  if (pattern === undefined) return fc.string({ minLength });
  // Generated from the long pattern of visible text, most characters would be rare.
  return pattern.length > 150 ? freeText : fc.stringMatching(new RegExp(pattern, 'u'), { size: 'xsmall' });
}

/** NUL and broken surrogate pairs are rejected before any other check. */
const isSendable = (text: string) => text.isWellFormed() && !text.includes('\0');

/** Returns the JSON value of a text in a URL. Repeated items count once. */
function valueOf(text: string, { type, items }: Schema): unknown {
  if (items !== undefined) return [...new Set(text.split(','))].map((item) => valueOf(item, items));
  if (type === 'boolean') return text === 'true' || (text === 'false' ? false : text);
  return type === 'integer' && /^(0|-?[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
}

describe('requests', () => {
  let service: TestService;
  let user_id: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ user_id } = await service.createUser());
    await service.rows(`insert into roles (name, user_types, permissions) values ('empty', '{system}', '{}')`);
  });
  afterAll(() => service.close());

  const send = (method: string, path: string, body?: unknown): Promise<TestAnswer> => {
    const url = path
      .replace(/\{\w+_id\}/, user_id)
      .replace('{role}', 'empty')
      .replace('{token}', 'A'.repeat(43));
    return service.send(method, url, {
      token: service.admin.token,
      // As a page of the service, which may use cookies.
      headers: { 'sec-fetch-site': 'same-origin' },
      ...(body === undefined ? {} : { body }),
    });
  };

  /** Returns the fields and parameters that a response rejects because of their own value. */
  function rejectedBy({ status, body }: TestAnswer): string[] {
    const errors = body.errors as { pointer?: string; parameter?: string; code: string }[];
    // An unknown field or parameter is always rejected, so no operation runs.
    expect([status, errors.filter(({ code }) => code.endsWith('.unknown'))]).toEqual([400, [expect.anything()]]);
    const own = errors.filter(({ code }) => code !== 'parameter.conflict');
    return own.map(({ pointer, parameter }) => pointer?.slice(1) ?? parameter ?? '');
  }

  it.each(bodies)('accepts a text in a field exactly when the schema does: $method $path', async (operation) => {
    const fields = operation.fields.map(([field, one]) => {
      return { field, isList: one.items !== undefined, text: one.items ?? one, accepts: ajv.compile(one) };
    });
    const values = fc.tuple(...fields.map(({ text }) => fc.oneof(texts, fitting(text)).filter(isSendable)));
    await fc.assert(
      fc.asyncProperty(values, async (tried) => {
        const sent = fields.map(({ field, isList }, index) => [field, isList ? [tried[index]] : tried[index]] as const);
        const answer = await send(operation.method, operation.path, { ...Object.fromEntries(sent), nonsense: 1 });
        const rejected = rejectedBy(answer);
        for (const [index, { field, accepts }] of fields.entries()) {
          const value = sent[index]?.[1];
          const valid = accepts(value);
          // No pattern can list time zones, describe public targets or exclude some role names.
          if (valid && (['timezone', 'url'].includes(field) || (operation.path === '/role/create' && field === 'name')))
            continue;
          expect([field, value, !rejected.includes(field)]).toEqual([field, value, valid]);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('accepts every e-mail address that the schema accepts and that RFC 5321 allows', async () => {
    const accepts = ajv.compile(schemas['ChangeEmailRequest']?.properties?.['email'] ?? {});
    const label = fc
      .stringMatching(/^[A-Za-z0-9]([A-Za-z0-9-]{0,5}[A-Za-z0-9])?$/)
      .filter((text) => !/^..--/.test(text));
    const address = fc.tuple(
      fc.stringMatching(/^[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,30}(\.[a-z]{1,20})?$/),
      fc.array(label, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('com', 'c', '1', 'x1', 'a-', 'museum'),
    );
    await fc.assert(
      fc.asyncProperty(address, async ([local, labels, top]) => {
        const email = `${local}@${labels.join('.')}.${top}`;
        const rejected = rejectedBy(await send('POST', '/auth/email', { email, nonsense: 1 }));
        expect([email, !rejected.includes('email')]).toEqual([email, accepts(email)]);
      }),
    );
  });

  it.each([...queries].map(([operation, parameters]) => ({ ...operation, parameters })))(
    'accepts a parameter exactly when the schema does: $method $path',
    async ({ method, path, parameters, body }) => {
      const compiled = parameters.map((one) => ({ ...one, accepts: ajv.compile(one.schema) }));
      const values = parameters.map(({ schema }) => fc.oneof(texts, fitting(schema)).filter(isSendable));
      const outcomes = new Set<string>();
      await fc.assert(
        fc.asyncProperty(fc.tuple(...values), async (tried) => {
          const sent = compiled.map(({ name }, index) => [name, tried[index] ?? ''] as [string, string]);
          const deleted: [string, string][] = path === '/user/list' ? [['deleted', 'true']] : [];
          const query = new URLSearchParams([...sent, ...deleted, ['nonsense', '1']]);
          const rejected = rejectedBy(
            await send(method, `${path}?${String(query)}`, body?.content['application/json'] && {}),
          );
          for (const [index, { name, schema, explode, accepts }] of compiled.entries()) {
            const text = tried[index] ?? '';
            // The product of `page` and `per_page` is limited, not `page`.
            if (name === 'page' && /^[1-9]\d{5,}$/.test(text)) continue;
            const valid = accepts(explode === true ? [text] : valueOf(text, schema));
            expect([name, text, !rejected.includes(name)]).toEqual([name, text, valid]);
            outcomes.add(`${name} ${valid}`);
          }
        }),
        { numRuns: 80 },
      );
      expect(outcomes.size).toBe(2 * parameters.length);
    },
  );

  it('rejects a missing body exactly where the document requires one (I19)', async () => {
    const required = operations.filter(
      ({ body }) => body?.required !== false && body?.content['application/json'] !== undefined,
    );
    expect(required.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining(['PATCH /role/{role}', 'PATCH /user/{user_id}', 'PATCH /user/all', 'POST /auth/login']),
    );
    const error = { pointer: '', code: 'field.required', detail: 'the operation requires a body' };
    for (const { method, path } of required) {
      const { status, body } = await send(method, path === '/user/all' ? `${path}?name=unknown` : path);
      expect([method, path, status, body.errors]).toEqual([method, path, 400, [error]]);
    }
    const nul = await send('POST', '/user/create', { name: 'a\0', nonsense: 1 });
    expect(nul.body.errors).toMatchObject([{ pointer: '/name', code: 'field.malformed' }]);
    const optional = operations.filter(({ body }) => body?.required === false).map(({ path }) => path);
    const ofAuth = ['/auth/check-token', '/auth/factor/passkey/options', '/auth/logout'];
    expect(optional.sort()).toEqual([...ofAuth, '/webhook/{webhook_id}/enable']);
    const { token } = await service.loginAs();
    expect((await service.post('/auth/check-token', { token })).status).toBe(200);
    expect((await service.post('/auth/logout', { token })).status).toBe(204);
  });

  it('accepts combinations of fields exactly when their schema does, and an empty change', async () => {
    const roles = ['carrier_user'];
    const bulk = [{}, { roles }, { roles_add: roles }, { roles_add: roles, roles_remove: [] }];
    const tokens = [{}, { token: 'a' }, { refresh_token: 'a' }, { token: 'a', refresh_token: 'a' }];
    const users = ['system', 'carrier'].flatMap((user_type) =>
      [{}, { carrier_id: null }, { carrier_id: 'c1' }].flatMap((carrier) =>
        [{}, { carrier_scope: null }, { carrier_scope: [] }].map((scope) => {
          return { user_type, name: 'ada', email: 'ada@example.com', ...carrier, ...scope };
        }),
      ),
    );
    const cases: [string, string, string, object[]][] = [
      ['ChangeFoundUsersRequest', 'PATCH', '/user/all?name=unknown', bulk],
      ['ChangeFoundUsersRequest', 'PATCH', '/user/all?name=unknown', bulk.map((body) => ({ ...body, roles }))],
      ['CheckTokenRequest', 'POST', '/auth/check-token', tokens],
      ['CreateUserRequest', 'POST', '/user/create', users],
    ];
    for (const [name, method, path, sent] of cases) {
      const accepts = ajv.compile(schemas[name] ?? {});
      for (const body of sent)
        expect([name, body, (await send(method, path, body)).status !== 400]).toEqual([name, body, accepts(body)]);
    }
    for (const path of ['/role/{role}', '/user/{user_id}']) expect((await send('PATCH', path, {})).status).toBe(200);
  });

  it('serves a page about all error codes, a page about each, and 404 for any other code', async () => {
    const all = await service.get('/docs/errors');
    const shown = [...all.text.matchAll(/<dt id="([^"]+)">/g)].map(([, code]) => code);
    expect(shown.sort()).toEqual(Object.keys(errorCodes).sort());
    for (const [code, { status, title }] of Object.entries(errorCodes)) {
      expect(all.text).toContain(`<code>${code}</code> – ${status} ${title}`);
      const page = await service.get(`/docs/errors/${code}`);
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page.text.match(/<dt [^>]*>/g)).toEqual([`<dt id="${code}">`]);
    }
    for (const code of ['x', 'request', 'auth.token', 'constructor', '__proto__', 'toString'])
      expect((await service.get(`/docs/errors/${code}`)).status).toBe(404);
    const { body } = await service.get('/user');
    const type = `${service.config.PUBLIC_URL}/docs/errors/auth.token_missing`;
    expect(body).toMatchObject({ code: 'auth.token_missing', status: 401, type });
  });

  it('returns the values of each detail in params, so that clients can translate errors by code', async () => {
    const { token } = service.admin;
    const body = {
      ...{ user_type: 'robot', name: 'x'.repeat(65), email: 'ada@example.com', password: 'short' },
      ...{ roles: Array.from({ length: 21 }, (_, index) => `r${index}`), locale: 'd' },
      attributes: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`k${index}`, 1])),
    };
    const invalid = await service.post('/user/create', { token, body });
    const query = 'per_page=501&status=asleep&name_like=a&online=perhaps&page=1&cursor=x&count=few';
    const list = await service.get(`/user/list?${query}`, { token });
    const errors = [...invalid.body.errors, ...list.body.errors] as Record<string, unknown>[];
    expect(errors.map(({ pointer, parameter, code, params }) => [pointer ?? parameter, code, params])).toEqual(
      expect.arrayContaining([
        ['/user_type', 'field.not_allowed', { allowed: ['carrier', 'system'] }],
        ['/name', 'field.too_long', { max: 64 }],
        ['/locale', 'field.too_short', { min: 2 }],
        ['/roles', 'field.too_many', { max: 20 }],
        ['/attributes', 'field.too_many', { max: 100, unit: 'keys' }],
        ['per_page', 'parameter.malformed', { min: 1, max: 500 }],
        ['status', 'parameter.malformed', { allowed: ['active', 'invited', 'disabled'] }],
        ['name_like', 'parameter.malformed', { min: 3, unit: 'characters' }],
        ['online', 'parameter.malformed', { allowed: ['true', 'false'] }],
        ['page', 'parameter.conflict', { parameter: 'cursor' }],
        ['count', 'parameter.malformed', { allowed: ['estimated', 'exact', 'none'] }],
      ]),
    );
    for (const { detail, params } of errors)
      for (const [value = ''] of String(detail).matchAll(/\d+/g)) expect(JSON.stringify(params)).toContain(value);
    const weak = { ...body, user_type: 'system', name: 'ada', roles: [], locale: 'de', attributes: {} };
    const detail = 'must have at least 15 characters';
    expect((await service.post('/user/create', { token, body: weak })).body.errors).toEqual([
      { pointer: '/password', code: 'password.too_short', detail, params: { min: 15 } },
    ]);
  });
});
