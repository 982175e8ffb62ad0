import { readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { ownPermissions } from '../../src/access/permissions';
import { eventCatalogue, type EventDefinition } from '../../src/audit/event-catalogue';
import { type ErrorCode, errorCodes } from '../../src/http/errors/error-codes';
import { codeTexts, detailTexts, unitTexts } from '../../web/src/texts/details.de';
import * as de from '../../web/src/texts/errors.de';
import * as en from '../../web/src/texts/errors.en';
import {
  committedDocument,
  componentAt,
  document as documentInPlace,
  type Parameter,
  type RequestBody,
  type Schema,
} from '../support/contract/document';
import { sourceFiles } from '../support/contract/sources';

interface Response {
  $ref?: string;
  headers?: object;
  content?: Record<string, { schema: Schema; examples: Record<string, { value: { code: string; status: number } }> }>;
}
interface Operation {
  operationId: string;
  summary: string;
  security: object[];
  parameters?: Parameter[];
  requestBody?: RequestBody;
  responses: Record<string, Response>;
  'x-error-codes': ErrorCode[];
  'x-permission': string;
  'x-long-work'?: boolean;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
}

const document = committedDocument as unknown as Document;
const schemas = Object.entries(document.components.schemas);
const requests = schemas.filter(([name]) => name.endsWith('Request'));
const resolve = <Node extends { $ref?: string }>(node: Node): Node =>
  node.$ref === undefined ? node : { ...(componentAt(node.$ref) as Node), ...node, $ref: undefined };
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    route: `${method.toUpperCase()} ${path}`,
    path,
    ...operation,
    parameters: (operation.parameters ?? []).map(resolve),
    statuses: Object.keys(operation.responses).map(Number),
  })),
);
const parameters = operations.flatMap((operation) =>
  operation.parameters.map((parameter) => ({ ...parameter, of: `${operation.route} ${parameter.name}` })),
);
const properties = schemas.flatMap(([owner, { properties: fields = {}, required = [] }]) =>
  Object.entries(fields).map(([field, schema]) => {
    return { name: `${owner}.${field}`, owner, field, schema, isRequired: required.includes(field) };
  }),
);
const typesOf = ({ type }: Schema) => [type ?? []].flat();
const duplicates = (texts: string[]) => texts.filter((text, index) => texts.indexOf(text) !== index);
const enumOf = (schema: Schema) => resolve(schema).enum;

const ajv = new Ajv2020({ strict: false });
addFormats(ajv);
ajv.addSchema({ $id: 'doc', ...document });
const validators = new Map<string, ValidateFunction>();
/** Validates a value by a schema of the document. */
function accepts(schema: Schema, value: unknown): boolean {
  const text = JSON.stringify({ ...schema, example: undefined }).replaceAll('"#/components', '"doc#/components');
  const validate = validators.get(text) ?? ajv.compile(JSON.parse(text) as Schema);
  validators.set(text, validate);
  return validate(value) === true;
}

/** Returns every schema below a node, with the path to it. */
function schemasIn(node: unknown, path: string[] = []): [string, Schema][] {
  if (typeof node !== 'object' || node === null) return [];
  const below = Object.entries(node).flatMap(([key, child]) =>
    ['example', 'examples', 'x-error-codes'].includes(key) ? [] : schemasIn(child, [...path, key]),
  );
  return 'type' in node || 'enum' in node ? [[path.join('/'), node as Schema], ...below] : below;
}

/** Returns whether a field has an example, or refers to a schema that has one. */
function hasExample(schema: Schema): boolean {
  if (schema.example !== undefined) return true;
  const parts = [schema, ...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])];
  return parts
    .flatMap(({ $ref }) => ($ref === undefined ? [] : [componentAt($ref) as Schema]))
    .some(
      (one) => one.example !== undefined || Object.keys(one.properties ?? {}).length > 0 || one.oneOf !== undefined,
    );
}

describe('the operations of the OpenAPI document', () => {
  it('have a unique summary and a unique id: a verb and its object, or a verb that needs none', () => {
    const bare = ['login', 'logout', 'reauthenticate'];
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids.filter((id) => !bare.includes(id) && !/^[a-z]+([A-Z][a-z]+)+$/.test(id))).toEqual([]);
    expect(operations.filter(({ summary }) => !/^[A-Z][^.]{3,70}$/.test(summary))).toEqual([]);
    expect([duplicates(ids), duplicates(operations.map(({ summary }) => summary))]).toEqual([[], []]);
  });

  it('describe each parameter once, including those of the path, and filters after all others', () => {
    for (const { route, path, parameters: own } of operations) {
      expect([route, duplicates(own.map((parameter) => `${parameter.in} ${parameter.name}`))]).toEqual([route, []]);
      const inPath = own.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
      expect(inPath.sort()).toEqual([...path.matchAll(/\{[^}]+\}/g)].map(([name]) => name).sort());
      const flags = own.map((parameter) => Number(parameter['x-filter'] !== undefined));
      expect([route, flags]).toEqual([route, [...flags].sort()]);
    }
    expect(parameters.filter(({ description = '' }) => description.length < 3).map(({ of }) => of)).toEqual([]);
  });

  it('give each query parameter a length and a form, and lists one comma-separated parameter', () => {
    const inQuery = parameters.filter((parameter) => parameter.in === 'query');
    const texts = inQuery.map(({ of, schema }) => ({ of, ...resolve(schema.items ?? schema) }));
    const loose = texts.filter(({ of, type, enum: values, const: value, minLength, maxLength, pattern, format }) => {
      if (type !== 'string' || values !== undefined || value !== undefined) return false;
      const isToken = /(cursor|confirm_token|after)$/.test(of);
      return !(minLength! > 0 && maxLength! <= (isToken ? 1_024 : 512)) || !(isToken || pattern || format);
    });
    expect(loose).toEqual([]);
    // Proxies repeat the parameter of `GET /auth/verify`.
    const lists = inQuery.filter(
      ({ of, name, schema }) =>
        name.endsWith('_in') || (schema.type === 'array' && of !== 'GET /auth/verify permission'),
    );
    expect(lists.length).toBeGreaterThan(100);
    const form = { style: 'form', explode: false, schema: { type: 'array', minItems: 1, maxItems: 500 } };
    for (const list of lists) expect(list).toMatchObject({ name: expect.stringMatching(/_in$/), ...form });
  });

  it('name a known permission, and security exactly where they read a token', () => {
    for (const { route, operationId, security, ...operation } of operations) {
      const permission = operation['x-permission'];
      expect(['none', 'any login', ...Object.keys(ownPermissions)]).toContain(permission);
      // Public operations that read a token: the API explorer sends one only where security names
      // it, with `{}` for none.
      const either = ['checkToken', 'logout'].includes(operationId);
      const basic = operationId === 'introspectToken' ? ['client-credentials'] : [];
      const wanted = permission === 'none' && !either ? [] : ['bearer', 'x-auth-token', ...basic];
      expect([route, security.flatMap(Object.keys)]).toEqual([route, wanted]);
      expect([route, security.some((one) => Object.keys(one).length === 0)]).toEqual([route, either]);
    }
  });

  it('declare one success response, with a schema unless it is empty', () => {
    for (const { route, operationId, responses, statuses } of operations) {
      const successes = statuses.filter((status) => status < 300);
      // Operations that may take long can also respond with 202.
      const accepted = responses['202']?.headers !== undefined;
      expect(successes.filter((status) => !accepted || status !== 202 || successes.length === 1)).toHaveLength(1);
      const isEmpty = route.startsWith('HEAD') || successes[0] === 204 || operationId === 'inviteUser';
      expect([route, responses[String(successes[0])]?.content === undefined]).toEqual([route, isEmpty]);
    }
  });

  it('limit the code of a problem to the known codes of the operation, and show each in an example', () => {
    for (const { route, responses, statuses, ...operation } of operations) {
      const promised = statuses.flatMap((status) => {
        const response = resolve(responses[String(status)]!);
        if (status < 400) return [];
        const { schema, examples } = response.content!['application/problem+json']!;
        const codes = resolve(schema).allOf?.[1]?.properties?.['code']?.enum ?? [];
        for (const [name, { value }] of Object.entries(examples)) {
          expect([route, name, value.code, value.status]).toEqual([route, name, name, status]);
          expect([route, name, accepts(schema, value)]).toEqual([route, name, true]);
          expect(accepts(schema, { ...value, code: 'other.code' })).toBe(false);
        }
        expect([route, Object.keys(examples)]).toEqual([route, codes]);
        for (const code of codes) expect([code, errorCodes[code as ErrorCode]?.status]).toEqual([code, status]);
        return codes;
      });
      expect([route, duplicates(operation['x-error-codes'])]).toEqual([route, []]);
      expect(promised).toEqual(expect.arrayContaining(operation['x-error-codes']));
    }
  });

  it('share every parameter and every error response that two of them have in common', () => {
    const all = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const inline = all.flatMap(({ parameters: own = [] }) => own.filter(({ $ref }) => $ref === undefined));
    expect(duplicates(inline.map((parameter) => JSON.stringify(parameter)))).toEqual([]);
    const errors = all
      .flatMap(({ responses }) => Object.entries(responses))
      .filter(([status]) => Number(status) >= 400);
    expect(errors.length).toBeGreaterThan(300);
    expect(errors.filter(([, { $ref }]) => $ref === undefined)).toEqual([]);
    expect(Object.keys(document.components.responses).length).toBeLessThan(80);
  });

  it('give every body an example that its schema accepts', () => {
    const bodies = operations.flatMap(({ route, requestBody }) =>
      Object.entries(requestBody?.content ?? {}).map(([type, content]) => ({ name: `${route} ${type}`, ...content })),
    );
    expect(bodies.length).toBeGreaterThan(12);
    expect(bodies.filter(({ schema, example }) => example === undefined || !accepts(schema, example))).toEqual([]);
  });
});

describe('the schemas of the OpenAPI document', () => {
  it('are described, and closed for requests but not for responses', () => {
    expect(schemas.filter(([, { description = '' }]) => description.length < 5).map(([name]) => name)).toEqual([]);
    const silent = properties.filter(({ schema: { description = '' } }) => description.length < 3);
    expect(silent.map(({ name }) => name)).toEqual([]);
    expect(properties.filter(({ field }) => !/^[a-z][a-z0-9_]*$/.test(field))).toEqual([]);
    const closed = schemas.filter(([, schema]) => schema.additionalProperties === false).map(([name]) => name);
    // openapi-generator cannot read closed forms.
    const wanted = requests.map(([name]) => name).filter((name) => !name.startsWith('Introspection'));
    expect(closed.sort()).toEqual(wanted.sort());
  });

  it('limit every string and array of a request, and let generators leave out lists that were not set', () => {
    const ofRequests = properties.filter(({ owner }) => owner.endsWith('Request'));
    const unlimited = ofRequests.filter(({ schema }) => {
      const { maxLength, maxItems, items } = schema;
      if (typesOf(schema).includes('string')) return maxLength === undefined && enumOf(schema) === undefined;
      if (!typesOf(schema).includes('array')) return false;
      return maxItems === undefined || (items?.maxLength === undefined && enumOf(items ?? {}) === undefined);
    });
    expect(unlimited.map(({ name }) => name)).toEqual([]);
    const lists = ofRequests.filter(({ schema }) => typesOf(schema).includes('array'));
    expect(lists.length).toBeGreaterThan(10);
    const filled = lists.filter(({ schema, isRequired }) => !isRequired && schema['x-nullable'] !== true);
    expect(filled.map(({ name }) => name)).toEqual([]);
  });

  it('give every property and parameter an example that they accept', () => {
    expect(properties.filter(({ schema }) => !hasExample(schema)).map(({ name }) => name)).toEqual([]);
    const wrong = properties.filter(({ schema }) => schema.example !== undefined && !accepts(schema, schema.example));
    expect(wrong.map(({ name, schema }) => [name, schema.example])).toEqual([]);
    const without = parameters.filter(({ schema, example }) => example === undefined || !accepts(schema, example));
    expect(without.map(({ of }) => of)).toEqual([]);
  });

  it('declare every number as an integer with a format, and every id as a UUID, except ids that are text', () => {
    const numbers = schemasIn(document).filter(([, one]) => typesOf(one).some((type) => /number|integer/.test(type)));
    expect(numbers.length).toBeGreaterThan(40);
    const loose = numbers.filter(
      ([, one]) => typesOf(one).includes('number') || !/^int(32|64)$/.test(one.format ?? ''),
    );
    expect(loose).toEqual([]);
    const texts = ['carrier_id', 'client_id', 'request_id'];
    const ids = properties.filter(({ field }) => /_id$|_by$/.test(field) && !texts.includes(field));
    expect(ids.length).toBeGreaterThan(20);
    // The name of a role is an id too.
    expect(ids.filter(({ schema }) => schema.format !== 'uuid').map(({ name }) => name)).toEqual([
      'ChangeResponse.target_id',
    ]);
    const inPaths = parameters.filter((parameter) => parameter.in === 'path' && /_id$/.test(parameter.name));
    expect(inPaths.filter(({ schema }) => schema.format !== 'uuid')).toEqual([]);
  });

  it('name every enum, so that clients have one type for it', () => {
    const named = schemas.filter(([, one]) => one.enum !== undefined);
    const names = named.map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(['UserType', 'UserStatus', 'OperationStatus', 'SortDirection']));
    for (const [name, { enum: values, 'x-enum-varnames': constants = [] }] of named) {
      expect([name, constants.length, duplicates(constants)]).toEqual([name, values?.length, []]);
      expect([name, constants.filter((constant) => !/^[A-Z][A-Z0-9_]*$/.test(constant))]).toEqual([name, []]);
    }
    const inline = schemasIn(document)
      .filter(([, one]) => one.type !== undefined && one.enum !== undefined)
      .map(([path]) => path)
      .filter((path) => !/^components\/schemas\/[A-Za-z]+$/.test(path));
    // The codes of a problem belong to one response.
    expect(inline.filter((path) => !/Problem\/allOf\/1\/properties\/code$/.test(path))).toEqual([]);
  });

  it('have short names, and no operation uses the problem of another', () => {
    expect(schemas.map(([name]) => name).filter((name) => name.length > 45 || /[a-z]Or[A-Z]/.test(name))).toEqual([]);
    const pascal = (id: string) => id.charAt(0).toUpperCase() + id.slice(1);
    const statuses = 'BadRequest|Unauthorized|Forbidden|NotFound|Conflict';
    const owned = new RegExp(`/(${operations.map(({ operationId }) => pascal(operationId)).join('|')})(${statuses})$`);
    const borrowed = operations.flatMap(({ operationId, responses }) =>
      Object.values(responses as Record<string, { $ref?: string }>)
        .map(({ $ref = '' }) => owned.exec($ref)?.[1] ?? '')
        .filter((owner) => !['', pascal(operationId)].includes(owner)),
    );
    expect(borrowed).toEqual([]);
  });

  it('tell the alternatives of a response apart by a discriminator', () => {
    const unions = schemas.flatMap(([, one]) => (one.oneOf === undefined ? [] : [one]));
    expect(unions).toHaveLength(2);
    for (const { oneOf = [], discriminator } of unions) {
      const { propertyName, mapping } = discriminator!;
      expect(new Set(Object.values(mapping))).toEqual(new Set(oneOf.map(({ $ref }) => $ref)));
      for (const [value, target] of Object.entries(mapping)) {
        const field = resolve((componentAt(target) as Schema).properties![propertyName]!);
        expect([target, field.enum ?? [field.const]]).toEqual([target, expect.arrayContaining([value])]);
      }
    }
    expect(schemasIn(document.paths).filter(([, schema]) => schema.oneOf !== undefined)).toEqual([]);
  });

  it('use only patterns that ECMA-262, Python and RE2 read alike', () => {
    const patterns = new Set(schemasIn(document).flatMap(([, { pattern }]) => pattern ?? []));
    expect(patterns.size).toBeGreaterThan(10);
    for (const pattern of patterns) {
      expect(() => new RegExp(pattern, 'u')).not.toThrow();
      // No lookaround, references, classes or escapes that differ between languages.
      expect(pattern).not.toMatch(/\(\?[^:]|\\[^xtnr.*+?^$|()[\]{}/-]|\\x(?![0-9a-f]{2})/);
    }
  });

  it('contain no response field for a password, a hash or an internal value, and state the claims of tokens', () => {
    // Only the enrolment of an authenticator app, and a webhook with a new secret, return a secret.
    const ofResponses = properties.filter(({ owner }) => !/Request$|^AddedTotpResponse$|^Webhook/.test(owner));
    const internal = /hash|secret|search_text|^password$|current_password|new_password/;
    expect(ofResponses.filter(({ field }) => internal.test(field)).map(({ name }) => name)).toEqual([]);
    const claims = document.components.schemas['IntrospectionResponse']?.properties;
    expect(claims?.['iss']?.description).toContain('public URL');
    expect(claims?.['aud']?.description).toContain('carrier-platform');
    expect(JSON.stringify(document)).toMatch(/`aud` `carrier-platform`.*`iss`/);
  });
});

/** The routes that need no login. Any other route must require one. */
const publicRoutes = [
  ...['GET /', 'HEAD /', 'GET /health/live', 'HEAD /health/live', 'GET /health/ready', 'HEAD /health/ready'],
  ...['GET /.well-known/jwks.json', 'GET /.well-known/oauth-authorization-server', 'GET /.well-known/webauthn'],
  ...['GET /auth/link-page.js', 'GET /user/export/{token}'],
  ...['GET /auth/email/{token}', 'POST /auth/email/{token}', 'GET /auth/reset/{token}', 'POST /auth/reset/{token}'],
  ...['POST /auth/check-token', 'POST /auth/login', 'POST /auth/logout', 'POST /auth/reset_email'],
  ...['POST /auth/passkey/login', 'POST /auth/passkey/options'],
  ...['POST /auth/second-factor', 'POST /auth/second-factor/passkey-options'],
];

/** The required operations, whose methods and paths never change. */
const promised = [
  ...['GET /user', 'GET /user/list', 'GET /user/{user_id}', 'POST /user/create', 'PATCH /user/{user_id}'],
  ...['DELETE /user/{user_id}', 'PATCH /user/all', 'DELETE /user/all', 'GET /auth/session/list'],
  ...['POST /auth/check-token', 'POST /auth/reset_email', 'POST /auth/reset/{token}'],
];

/**
 * The routes whose requests take a place of the admission of long work. A change of a role may wait
 * for bulk changes. An import takes a place for each batch instead, and an export has a separate
 * connection.
 */
const longRoutes = [
  ...['GET /audit/list', 'GET /auth/key/list', 'GET /auth/session/list', 'GET /carrier/list', 'GET /mail/list'],
  ...['GET /webhook/list', 'GET /webhook/{webhook_id}/delivery/list'],
  ...['GET /role/list', 'GET /user/list', 'GET /user/operation/list', 'GET /user/operation/{operation_id}/skipped'],
  ...['GET /address-block/list', 'GET /stats/attacks', 'GET /stats/overview'],
  ...['DELETE /auth/session/all', 'DELETE /user/all', 'PATCH /user/all'],
  ...['POST /role/create', 'PATCH /role/{role}', 'DELETE /role/{role}', 'POST /user/operation/{operation_id}/undo'],
];

/**
 * The changes by users and keys whose requests take no place for the whole handler. A new user and
 * a new own password take one after the hash, and an import takes one for each batch. The others
 * wait for no lock of a bulk change, or for at most 2 s, or are limited to a few in an hour. The
 * deletion of a webhook waits for a target, not for the database.
 */
const unadmittedChanges = [
  ...['POST /auth/email', 'POST /auth/introspect', 'POST /auth/password', 'POST /mail/{mail_id}/retry'],
  ...['POST /auth/reauthenticate', 'POST /auth/reauthenticate/options'],
  ...['POST /user/create', 'POST /user/export/link', 'POST /user/import', 'DELETE /webhook/{webhook_id}'],
];

const controller = /@Controller\((?:'([^']*)')?\)([\s\S]*?)(?=@Controller\(|$)/g;
const handler =
  /^ {2}@(Get|Post|Put|Patch|Delete|Head|All|Options|Search)\((?:'([^']*)')?\)\n([\s\S]*?)^ {2}(?:async )?\w+\(/gm;

/** Returns the decorators of all handlers of the controllers, by their routes. */
function handlers(): Map<string, string> {
  const found = sourceFiles('.controller.ts').flatMap(({ text }) =>
    [...text.matchAll(controller)].flatMap(([, base = '', body = '']) =>
      [...body.matchAll(handler)].map(([, method = '', path = '', decorators = '']): [string, string] => {
        const parts = `${base}/${path}`.split('/').filter((part) => part !== '');
        return [`${method.toUpperCase()} /${parts.join('/').replace(/:(\w+)/g, '{$1}')}`, decorators];
      }),
    ),
  );
  return new Map(found);
}

describe('the routes of the source', () => {
  const routes = handlers();
  const routesWith = (pattern: RegExp) => [...routes].filter(([, text]) => pattern.test(text)).map(([route]) => route);

  it('are documented with the same access rules, except the script of a page', () => {
    expect(routesWith(/@ApiExclude/)).toEqual(['GET /auth/link-page.js']);
    const documented = operations.map((operation) => `${operation.route} ${operation['x-permission']}`);
    const declared = [...routes].map(([route, decorators]) => {
      const [rule, ...others] = decorators.match(/^ {2}@(Allow|Public)\(('[^']+')?/gm) ?? [];
      // Each route declares once who may call it.
      expect([route, rule, others]).toEqual([route, expect.any(String), []]);
      const permission = /'(.+)'/.exec(rule ?? '')?.[1] ?? 'any login';
      return `${route} ${rule?.includes('@Public') === true ? 'none' : permission}`;
    });
    expect(declared.filter((text) => !text.includes('link-page')).sort()).toEqual(documented.sort());
  });

  it('are all in controllers, except the metrics and pages', () => {
    const outside = sourceFiles().filter(({ text }) =>
      /(fastify|instance)\.(get|post|put|patch|delete|all|route)[(<]/.test(text),
    );
    const known = ['console/console', 'http/docs/docs'].map((name) => `src/${name}.setup.ts`);
    const others = ['src/http/method-not-allowed.ts', 'src/platform/metrics/metrics-route.ts'];
    expect(outside.map(({ path }) => path).sort()).toEqual([...known, ...others].sort());
    expect(
      sourceFiles().filter(({ path, text }) => !path.endsWith('.controller.ts') && /@Controller\(/.test(text)),
    ).toEqual([]);
  });

  it('are public exactly where listed, and include the twelve required operations', () => {
    expect(routesWith(/^ {2}@Public\(/m).sort()).toEqual(publicRoutes.sort());
    expect(promised).toHaveLength(12);
    expect(promised.filter((route) => !routes.has(route))).toEqual([]);
  });

  it('admit every list, bulk change, change of a role and statistic as long work, and nothing else (D30)', () => {
    const long = operations.filter((operation) => operation['x-long-work'] === true).map(({ route }) => route);
    expect(long.sort()).toEqual(longRoutes.sort());
    expect(routesWith(/^ {2}@LongWork\(\)/m).sort()).toEqual(longRoutes.sort());
    // Lists of the factors of one user are short. The change feed takes a place while it reads.
    const lists = [...routes.keys()].filter(
      (route) => /\/(list|all)$/.test(route) && !/\/(factor|change)\//.test(route),
    );
    expect(lists.filter((route) => !long.includes(route))).toEqual([]);
  });

  it('admit every other change by a user or key, with listed exceptions (D30)', () => {
    const changes = [...routes.keys()].filter((route) => !publicRoutes.includes(route) && !/^(GET|HEAD) /.test(route));
    const admitted = routesWith(/^ {2}@(LongWork|SingleWrite)\(\)/m);
    expect(changes.filter((route) => !admitted.includes(route)).sort()).toEqual(unadmittedChanges.sort());
  });
});

const sources = sourceFiles();
/** Returns the text of all source files, except those whose path ends with a suffix. */
const textWithout = (suffix: string) =>
  sources
    .filter(({ path }) => !path.endsWith(suffix))
    .map(({ text }) => text)
    .join('\n');

describe('the error codes', () => {
  const codes = Object.keys(errorCodes).sort();
  /**
   * Codes that no operation returns: a method without an operation is not in the document, and an
   * operation in the background has its reason as `error_code`.
   */
  const ofNoOperation = [
    ...['operation.too_slow', 'request.method_not_allowed', 'user.has_logged_in', 'user.not_invited'],
  ];
  /** Failures of the console without a response of the API. */
  const ofConsole = ['network.unreachable', 'network.unexpected_response', 'passkey.not_used'];

  it('are all listed in docs/errors.md, and no others', () => {
    const shown = readFileSync('docs/errors.md', 'utf8').matchAll(/`([a-z_]+\.[a-z_]+)`/g);
    const known = [...shown].map(([, code = '']) => code).filter((code) => code in errorCodes);
    expect([...new Set(known)].sort()).toEqual(codes);
  });

  it('are all in the OpenAPI document, except those without an operation', () => {
    const mentioned = [...JSON.stringify(documentInPlace.paths).matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(
      ([, code = '']) => code,
    );
    const known = mentioned.filter((code) => code in errorCodes);
    expect([...new Set([...known, ...ofNoOperation])].sort()).toEqual(codes);
    expect(ofNoOperation.filter((code) => known.includes(code))).toEqual([]);
  });

  it('are all in use, and the source throws no others', () => {
    const text = textWithout('error-codes.ts').replace(/^\s*(errors: \[[^\]]*\],|\/?\*.*)$/gm, '');
    expect(codes.filter((code) => !text.includes(`'${code}'`))).toEqual([]);
    const thrown = [...text.matchAll(/new AppError\(\s*'([^']+)'/g)].map(([, code = '']) => code);
    expect(thrown.length).toBeGreaterThan(20);
    expect(thrown.filter((code) => !(code in errorCodes))).toEqual([]);
  });

  it('have the form area.what_is_wrong, texts for people, and a retry hint where the error passes', () => {
    for (const [code, kind] of Object.entries(errorCodes)) {
      expect(code).toMatch(/^[a-z][a-z_]*\.[a-z][a-z_]*$/);
      expect([code, kind.title]).toEqual([code, expect.stringMatching(/^[A-Z].{4,60}[^.]$/)]);
      expect([code, kind.meaning]).toEqual([code, expect.stringMatching(/^[A-Z`].{10,}\.$/)]);
      const passes = [429, 503].includes(kind.status) || code === 'idempotency.in_progress';
      expect([code, 'retry_after_seconds' in kind]).toEqual([code, passes]);
    }
  });

  it('have texts of the console in both languages, which translate only what the service sends', () => {
    for (const { errorTexts } of [en, de]) {
      expect(Object.keys(errorTexts).sort()).toEqual([...codes, ...ofConsole].sort());
      expect(Object.values(errorTexts).filter((text) => text.trim() === '')).toEqual([]);
    }
    expect(Object.keys(de.fieldErrorTexts).sort()).toEqual(Object.keys(en.fieldErrorTexts).sort());
    const text = textWithout('.spec.ts');
    expect(Object.keys(detailTexts).filter((detail) => !text.includes(detail))).toEqual([]);
    const ofFields = new Set(text.match(/(?<=')(?:field|parameter|password_hash)\.[a-z_]+(?=')/g));
    expect([...ofFields].sort()).toEqual(Object.keys(codeTexts).sort());
    const units = [...text.matchAll(/unit: '(\w+)'/g)].map(([, unit = '']) => unit);
    expect(units.filter((unit) => !(unit in unitTexts))).toEqual([]);
  });
});

describe('the event types', () => {
  it('are all recorded by the service', () => {
    const text = textWithout('event-catalogue.ts');
    expect(Object.keys(eventCatalogue).filter((type) => !text.includes(`'${type}'`))).toEqual([]);
  });

  it('declare each key either personal or impersonal', () => {
    for (const [type, { personal = [], impersonal = [] }] of Object.entries<EventDefinition>(eventCatalogue))
      expect([type, personal.filter((key) => impersonal.includes(key))]).toEqual([type, []]);
  });
});

describe('the tables', () => {
  const write = /\b(?:insert into|delete from|update(?= \w+(?: as \w+)?\s+set\b)|merge into|truncate) (\w+)/g;
  const entity = /@Entity\('(\w+)'\)/g;
  const section = readFileSync('docs/architecture.md', 'utf8').split('\n## Tables\n')[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| (`[a-z/-]+\/`(?: `[a-z/-]+\/`)*) \| (.+) \|$/gm)];

  /** Returns whether docs/architecture.md lists the folder as an owner of the table. */
  const isOwner = (mention: string) => {
    const [folder = '', table = ''] = mention.split(' ');
    const row = rows.find(([, , tables = '']) => tables.includes(`\`${table}\``));
    return row?.[1]?.includes(`\`${folder}/\``) === true;
  };

  it.each([
    ['have their entities', entity],
    ['are written only by statements', write],
  ])('%s in the folders that docs/architecture.md names', (_what, pattern) => {
    const mentions = sources.flatMap(({ path, text }) =>
      [...text.matchAll(pattern)].map(([, table]) => `${dirname(relative('src', path))} ${table}`),
    );
    expect(mentions.filter(isOwner)).not.toEqual([]);
    expect(mentions.filter((mention) => !isOwner(mention))).toEqual([]);
  });
});

describe('the packages of the lock file', () => {
  interface Entry {
    name?: string;
    dev?: boolean;
    hasInstallScript?: boolean;
    resolved?: string;
    /** a workspace of this repository */
    link?: boolean;
  }
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Entry> };
  const entries = Object.entries(lock.packages).filter(([location]) => location !== '');

  it('include no telemetry: an inert package stands in for the one of swagger-ui-dist', () => {
    // With an override, the name differs from the path.
    const names = entries.map(([location, { name }]) => name ?? location.split('node_modules/').at(-1) ?? '');
    expect(names).toContain('swagger-ui-dist');
    // OpenTelemetry sends traces only to the collector that the operator configures.
    expect(names.filter((name) => /^(?!@opentelemetry\/).*(telemetry|scarf)/.test(name))).toEqual([]);
  });

  it('run no install scripts in a production installation, and name no registry', () => {
    const scripts = entries.filter(([, { hasInstallScript, dev }]) => hasInstallScript === true && dev !== true);
    expect(scripts.map(([location]) => location)).toEqual([]);
    expect(entries.filter(([, { resolved, link }]) => resolved !== undefined && link !== true)).toEqual([]);
  });
});
