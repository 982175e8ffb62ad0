import 'reflect-metadata';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import {
  ChangeEmailRequest,
  ChangePasswordRequest,
  CheckTokenRequest,
  LoginRequest,
  LogoutRequest,
  ResetRequest,
} from '../../src/auth/auth.dto';
import { IntrospectionRequest } from '../../src/auth/introspection.dto';
import {
  CreateSecondFactorOptionsRequest,
  ReauthenticateRequest,
  SecondFactorRequest,
} from '../../src/auth/second-factor.dto';
import type { AppError } from '../../src/common/errors/app-error';
import { BodyPipe } from '../../src/common/http/validation.pipe';
import { patternOf, visibleText } from '../../src/common/text-forms';
import { CreateKeyRequest } from '../../src/api-keys/api-keys.dto';
import { SecureUserRequest } from '../../src/logins/user-secure.dto';
import { AddTotpRequest, ConfirmTotpRequest, RenameFactorRequest } from '../../src/logins/factors/factors.dto';
import {
  AddPasskeyRequest,
  CreatePasskeyOptionsRequest,
  LoginWithPasskeyRequest,
} from '../../src/logins/factors/passkeys.dto';
import { ChangeRoleRequest, CreateRoleRequest } from '../../src/roles/roles.dto';
import { ChangeFoundUsersRequest, ChangeUserRequest, CreateUserRequest } from '../../src/users/users.dto';
import { document } from '../support/document';
import { TestService } from '../support/service';

interface Schema {
  type?: string | string[];
  pattern?: string;
  enum?: string[];
  minLength?: number;
  maxLength?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
}

const requests = Object.entries({
  ...{
    ChangeEmailRequest,
    ChangePasswordRequest,
    CheckTokenRequest,
    LoginRequest,
    LogoutRequest,
    ResetRequest,
    IntrospectionRequest,
    ReauthenticateRequest,
    SecondFactorRequest,
    CreateSecondFactorOptionsRequest,
  },
  ...{
    AddTotpRequest,
    ConfirmTotpRequest,
    RenameFactorRequest,
    SecureUserRequest,
    AddPasskeyRequest,
    CreatePasskeyOptionsRequest,
    LoginWithPasskeyRequest,
  },
  ...{ CreateKeyRequest, ChangeRoleRequest, CreateRoleRequest },
  ...{ ChangeFoundUsersRequest, ChangeUserRequest, CreateUserRequest },
});
const schemas = document.components.schemas as Record<string, Schema>;
const ajv = new Ajv2020({ strict: false });
addFormats(ajv);

const texts = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'ada',
    'ab',
    'Ada Lovelace',
    'de',
    'de-AT',
    'de-DE-u-co-phonebk',
    'de-DE-1996-1996',
    'sl-rozaj',
    'x-y',
    'en-u',
    'Europe/Vienna',
    'Mars/Base',
  ),
  fc.constantFrom(
    '+4312345678',
    '+0',
    '10.0.0.0/8',
    '::1/129',
    '2026-11-20T13:00:00Z',
    '2026-02-30T00:00:00Z',
    'user:read',
    '*',
    'user:*',
    '.a',
    'list',
  ),
  fc.constantFrom(
    'a\u00adb',
    '\u3164',
    '\u{e0041}',
    'a\u200db',
    'ع\u200dر',
    '\ufe0f',
    '❤\ufe0f',
    '\u202e',
    'tab\t',
    '\u0085',
    'NUL\0',
  ),
  fc
    .tuple(
      fc.constantFrom('a', '\u{1F600}', 'é'),
      fc.constantFrom(16, 17, 64, 65, 100, 101, 254, 255, 256, 257, 500, 501, 1_024, 1_025),
    )
    .map(([unit, count]) => unit.repeat(count)),
  fc.string({ unit: fc.constantFrom('a', 'Z', '0', '-', '.', '_', ':', '/', '@', '\u200d', 'é'), maxLength: 8 }),
);

const freeText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('a', 'ع', '\u200d', '\ufe0f', '\u{e0101}'),
  ),
  maxLength: 9,
});

/** Returns texts that a schema accepts, or that are close to it. */
function fitting({ pattern, enum: values, minLength = 0 }: Schema): fc.Arbitrary<string> {
  if (values !== undefined) return fc.constantFrom(...values);
  if (pattern === undefined) return fc.string({ minLength });
  // Free text: any characters, with more invisible ones than chance would give.
  if (pattern === patternOf(visibleText)) return freeText;
  return fc.stringMatching(new RegExp(pattern, 'u'), { size: 'xsmall' });
}

describe('request bodies and their schemas', () => {
  it('covers every request class', () => {
    const documented = Object.keys(schemas).filter((name) => name.endsWith('Request'));
    expect([...requests.map(([name]) => name), 'ResetEmailRequest'].sort()).toEqual(documented.sort());
  });

  const pipe = new BodyPipe();
  /** Returns whether the validation pipe rejects a field of a body. */
  const rejects = async (
    metatype: new () => object,
    body: Record<string, unknown>,
    field: string,
  ): Promise<boolean> => {
    const error = await pipe.transform(body, { type: 'body', metatype }).then(
      () => null,
      (thrown: unknown) => thrown as AppError,
    );
    return error?.extras.errors?.some(({ pointer }) => pointer === `/${field}`) === true;
  };

  it.each(requests)('accepts a text exactly when its schema does: %s', async (name, type) => {
    for (const [field, schema] of Object.entries(schemas[name]?.properties ?? {})) {
      const text = schema.items ?? schema;
      // Addresses are normalised before validation, so more is accepted than the schema shows.
      if (![text.type].flat().includes('string') || field === 'email') continue;
      const validate = ajv.compile(schema);
      await fc.assert(
        fc.asyncProperty(fc.oneof(texts, fitting(text)), async (value) => {
          const sent = schema.items === undefined ? value : [value];
          const refused = await rejects(type, { [field]: sent }, field);
          const valid = validate(sent);
          // No pattern can list the time zones or exclude role names that look like a path.
          if (valid && (field === 'timezone' || (name === 'CreateRoleRequest' && field === 'name'))) return;
          expect([field, value, !refused]).toEqual([field, value, valid]);
        }),
        { numRuns: 150 },
      );
    }
  });

  it('accepts every e-mail address that the schema accepts and that RFC 5321 allows', async () => {
    const schema = schemas['ChangeEmailRequest']?.properties?.['email'] ?? {};
    const validate = ajv.compile(schema);
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
        const refused = await rejects(ChangeEmailRequest, { email }, 'email');
        expect([email, !refused]).toEqual([email, validate(email)]);
      }),
    );
  });
});

describe('whole request bodies', () => {
  let service: TestService;
  let user_id: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ user_id } = await service.createUser());
    await service.rows(`insert into roles (name, user_types, permissions) values ('empty', '{system}', '{}')`);
  });
  afterAll(() => service.close());

  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...{ method: method.toUpperCase(), path },
      body: (operation as { requestBody?: { required?: boolean; content: Record<string, object> } }).requestBody,
    })),
  );
  const send = (method: string, path: string, body?: unknown) =>
    service.send(
      method,
      path
        .replace(/\{(user|factor)_id\}/, user_id)
        .replace('{role}', 'empty')
        .replace('{token}', 'A'.repeat(43)) + (path === '/user/all' ? '?name=unknown' : ''),
      {
        token: service.admin.token,
        ...(body === undefined ? {} : { body }),
      },
    );

  it('rejects a missing body exactly where the document requires one (I19)', async () => {
    const required = operations.filter(
      ({ body }) => body?.required !== false && body?.content['application/json'] !== undefined,
    );
    expect(required.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining(['PATCH /role/{role}', 'PATCH /user/{user_id}', 'PATCH /user/all', 'POST /auth/login']),
    );
    const answers = await Promise.all(
      required.map(async ({ method, path }) => ({ method, path, ...(await send(method, path)) })),
    );
    const error = { pointer: '', code: 'field.required', detail: 'the operation requires a body' };
    const rejections = answers.map(({ method, path, status, body }) => [`${method} ${path}`, status, body.errors]);
    expect(rejections).toEqual(required.map(({ method, path }) => [`${method} ${path}`, 400, [error]]));
  });

  it('accepts a missing body where the document says that it is optional', async () => {
    const optional = operations.filter(({ body }) => body?.required === false).map(({ path }) => path);
    expect(optional.sort()).toEqual(['/auth/check-token', '/auth/factor/passkey/options', '/auth/logout']);
    const { token } = await service.loginAs();
    expect((await service.post('/auth/check-token', { token })).status).toBe(200);
    expect((await service.post('/auth/logout', { token })).status).toBe(204);
  });

  it('accepts combinations of fields exactly when their schema does', async () => {
    const roles = ['carrier_user'];
    const bulk = [
      {},
      { roles },
      { roles_add: roles },
      { roles_add: roles, roles_remove: [] },
      { roles, roles_add: [] },
      { roles, roles_remove: [] },
    ];
    const tokens = [{}, { token: 'a' }, { refresh_token: 'a' }, { token: 'a', refresh_token: 'a' }];
    const users = ['system', 'carrier'].flatMap((user_type) =>
      [{}, { carrier_id: null }, { carrier_id: 'c1' }].flatMap((carrier) =>
        [{}, { carrier_scope: null }, { carrier_scope: [] }].map((scope) => ({
          user_type,
          name: 'ada',
          email: 'ada@example.com',
          ...carrier,
          ...scope,
        })),
      ),
    );
    const cases: [string, string, object[]][] = [
      ['ChangeFoundUsersRequest', 'PATCH /user/all', bulk],
      ['CheckTokenRequest', 'POST /auth/check-token', tokens],
      ['CreateUserRequest', 'POST /user/create', users],
    ];
    for (const [name, operation, bodies] of cases) {
      const validate = ajv.compile(schemas[name] ?? {});
      const [method = '', path = ''] = operation.split(' ');
      for (const body of bodies) {
        const { status } = await send(method, path, body);
        expect([name, body, status !== 400]).toEqual([name, body, validate(body)]);
      }
    }
  });

  it('accepts an empty object as a change without effect', async () => {
    for (const path of ['/role/{role}', '/user/{user_id}'])
      expect([path, (await send('PATCH', path, {})).status]).toEqual([path, 200]);
  });
});
