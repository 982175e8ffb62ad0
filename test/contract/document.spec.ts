import { type ErrorCode, errorCodes } from '../../src/common/errors/error-codes';
import { ownPermissions } from '../../src/access/permissions';
import { document, type Operation } from '../support/document';

interface Schema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  maxLength?: number;
  maxItems?: number;
  enum?: string[];
  items?: Schema;
}
interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema?: Schema;
}

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    route: `${method.toUpperCase()} ${path}`,
    path,
    method,
    operation,
  })),
);
const schemas = Object.entries(document.components.schemas) as [string, Schema][];
const requests = schemas.filter(([name]) => name.endsWith('Request'));

/** Returns the error codes that an operation can respond with, by status. */
function codesOf(operation: Operation): [status: number, code: string][] {
  return Object.entries(operation.responses).flatMap(([status, response]) =>
    [...((response as { description?: string }).description ?? '').matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(
      ([, code = '']): [number, string] => [Number(status), code],
    ),
  );
}

describe('the OpenAPI document', () => {
  it.each(operations)('gives $route a summary and a unique operationId', ({ operation }) => {
    expect(operation.summary).toMatch(/^[A-Z][^.]{3,70}$/);
    expect(operations.filter((other) => other.operation.operationId === operation.operationId)).toHaveLength(1);
    expect(operations.filter((other) => other.operation.summary === operation.summary)).toHaveLength(1);
  });

  it.each(operations)('describes each parameter of $route once, including those of its path', ({ path, operation }) => {
    const parameters = (operation.parameters ?? []) as Parameter[];
    expect(parameters.filter(({ description = '' }) => description.length < 3).map(({ name }) => name)).toEqual([]);
    expect(new Set(parameters.map((parameter) => `${parameter.in} ${parameter.name}`)).size).toBe(parameters.length);
    const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
    expect(inPath.sort()).toEqual([...path.matchAll(/\{[^}]+\}/g)].map(([name]) => name).sort());
  });

  it.each(operations)('declares for $route only errors of the error table, each under its status', ({ operation }) => {
    const promised = codesOf(operation);
    for (const [status, code] of promised)
      expect([code, errorCodes[code as ErrorCode]?.status]).toEqual([code, status]);
    const refusals = Object.keys(operation.responses)
      .map(Number)
      .filter((status) => status >= 400);
    expect(refusals.filter((status) => !promised.some(([other]) => other === status))).toEqual([]);
    for (const status of refusals)
      expect(operation.responses[String(status)]?.content?.['application/problem+json']?.schema).toEqual({
        $ref: expect.stringMatching(/^#\/components\/schemas\/[A-Za-z]+Problem$/),
      });
  });

  it.each(operations)('lists for $route known error codes, each once and with a declared status', ({ operation }) => {
    const listed = operation['x-error-codes'] ?? [];
    expect(listed.filter((code) => !Object.hasOwn(errorCodes, code))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
    const promised = codesOf(operation).map(([, code]) => code);
    expect(listed.filter((code) => !promised.includes(code))).toEqual([]);
  });

  it.each(operations)(
    'names a known permission for $route, and security exactly where it reads a token',
    ({ operation }) => {
      const permission = operation['x-permission'] ?? '';
      expect(['none', 'any login', ...Object.keys(ownPermissions)]).toContain(permission);
      const { security = [], operationId } = operation as { security?: object[]; operationId?: string };
      // Public operations that read a token: the API explorer sends one only where security names
      // it, with `{}` for none.
      const either = ['checkToken', 'logout'].includes(operationId ?? '');
      const basic = operationId === 'introspectToken' ? ['client-credentials'] : [];
      expect(security.flatMap(Object.keys)).toEqual(
        permission === 'none' && !either ? [] : ['bearer', 'x-auth-token', ...basic],
      );
      expect(security.some((one) => Object.keys(one).length === 0)).toBe(either);
    },
  );

  it.each(operations)(
    'declares one success response for $route, with a schema unless it is empty',
    ({ method, operation }) => {
      const successes = Object.keys(operation.responses)
        .map(Number)
        .filter((status) => status < 300);
      // Operations that may take long can also respond with 202.
      const accepted = (operation.responses['202'] as { headers?: object } | undefined)?.headers !== undefined;
      expect(successes.filter((status) => !accepted || status !== 202 || successes.length === 1)).toHaveLength(1);
      const [status = 0] = successes;
      const { content } = operation.responses[String(status)] ?? {};
      const isEmpty = method === 'head' || status === 204;
      expect(content === undefined).toBe(isEmpty || (status === 202 && operation.operationId === 'inviteUser'));
    },
  );

  it.each(schemas)('describes each property of %s', (_name, schema) => {
    const properties = Object.entries(schema.properties ?? {});
    expect(properties.filter(([, { description = '' }]) => description.length < 3).map(([name]) => name)).toEqual([]);
    expect(properties.filter(([name]) => !/^[a-z][a-z0-9_]*$/.test(name)).map(([name]) => name)).toEqual([]);
  });

  it.each(requests)('limits every string and array of %s', (_name, schema) => {
    const unlimited = Object.entries(schema.properties ?? {}).filter(
      ([, { type, maxLength, maxItems, items, enum: values }]) => {
        const types = [type ?? []].flat();
        if (types.includes('string')) return maxLength === undefined && values === undefined;
        return (
          types.includes('array') &&
          (maxItems === undefined || (items?.maxLength === undefined && items?.enum === undefined))
        );
      },
    );
    expect(unlimited.map(([name]) => name)).toEqual([]);
  });

  it('uses only patterns that ECMA-262, Python and RE2 read alike', () => {
    const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\\\]|\\\\.)*")/g)].map(
      ([, quoted = '']) => JSON.parse(quoted) as string,
    );
    expect(new Set(patterns).size).toBeGreaterThan(10);
    for (const pattern of new Set(patterns)) {
      expect(() => new RegExp(pattern, 'u')).not.toThrow();
      // No lookaround, references, classes or escapes that differ between languages.
      expect(pattern).not.toMatch(/\(\?[^:]|\\[^xtnr.*+?^$|()[\]{}/-]|\\x(?![0-9a-f]{2})/);
    }
  });

  it('contains no response field for a password, a hash or an internal value', () => {
    // The response to the enrolment of an authenticator app is the only one with its secret.
    const answers = schemas.filter(([name]) => !name.endsWith('Request') && name !== 'AddedTotpResponse');
    const fields = answers.flatMap(([, { properties = {} }]) => Object.keys(properties));
    expect(
      fields.filter((field) => /hash|secret|search_text|^password$|current_password|new_password/.test(field)),
    ).toEqual([]);
  });
});
