import { readFileSync } from 'node:fs';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { type ErrorCode, errorCodes } from '../../src/common/errors/error-codes';
import { committedDocument, componentAt } from '../support/document';

interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: string[];
  const?: unknown;
  description?: string;
  example?: unknown;
  additionalProperties?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  'x-nullable'?: boolean;
  'x-enum-varnames'?: string[];
}
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  schema: Schema;
  example?: unknown;
  style?: string;
  explode?: boolean;
  'x-filter'?: string;
}
interface Problem {
  $ref?: string;
  content: Record<string, { schema: Schema; examples: Record<string, { value: { code: string; status: number } }> }>;
}
interface Operation {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> };
  responses: Record<string, Problem>;
  'x-error-codes': ErrorCode[];
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Problem>;
  };
}

const document = committedDocument as unknown as Document;
const { schemas } = document.components;
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const resolve = <Node extends { $ref?: string }>(node: Node): Node =>
  node.$ref === undefined ? node : { ...(componentAt(node.$ref) as Node), ...node, $ref: undefined };
const parametersOf = ({ parameters = [] }: Operation) => parameters.map(resolve);
const properties = Object.entries(schemas).flatMap(([name, { properties: fields = {} }]) =>
  Object.entries(fields).map(([field, schema]) => ({ name: `${name}.${field}`, owner: name, field, schema })),
);
const typesOf = ({ type }: Schema) => [type ?? []].flat();

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
const isComponent = (path: string) => /^components\/schemas\/[A-Za-z]+$/.test(path);

/** Returns every schema below a node, with the path to it. */
function schemasIn(node: unknown, path: string[] = []): [string, Schema][] {
  if (typeof node !== 'object' || node === null) return [];
  const below = Object.entries(node).flatMap(([key, child]) =>
    ['example', 'examples', 'x-error-codes'].includes(key) ? [] : schemasIn(child, [...path, key]),
  );
  return 'type' in node || 'enum' in node ? [[path.join('/'), node as Schema], ...below] : below;
}

/** Returns the example of a field, or whether the schemas that the field refers to have one. */
function hasExample(schema: Schema): boolean {
  if (schema.example !== undefined) return true;
  const parts = [schema, ...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])];
  const references = parts.flatMap(({ $ref }) => $ref ?? []);
  return references
    .map((reference) => componentAt(reference) as Schema)
    .some(
      (target) =>
        target.example !== undefined || Object.keys(target.properties ?? {}).length > 0 || target.oneOf !== undefined,
    );
}

describe('the OpenAPI document, as generators of clients read it', () => {
  it('names operations as methods: a verb and its object, or a verb that needs none', () => {
    const bare = ['login', 'logout', 'reauthenticate'];
    expect(
      operations
        .map(({ operationId }) => operationId)
        .filter((id) => !bare.includes(id) && !/^[a-z]+([A-Z][a-z]+)+$/.test(id)),
    ).toEqual([]);
  });

  it('shares every parameter and every error response that two operations have in common', () => {
    const inline = operations.flatMap(({ parameters = [] }) => parameters.filter(({ $ref }) => $ref === undefined));
    const texts = inline.map((parameter) => JSON.stringify(parameter));
    expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([]);
    const errors = operations.flatMap(({ responses }) =>
      Object.entries(responses).filter(([status]) => Number(status) >= 400),
    );
    expect(errors.length).toBeGreaterThan(300);
    expect(errors.filter(([, { $ref }]) => $ref === undefined)).toEqual([]);
    expect(Object.keys(document.components.responses).length).toBeLessThan(70);
  });

  it('limits the code of a problem to the codes of the operation, and shows each in an example', () => {
    for (const { operationId, responses, ...operation } of operations) {
      const promised = Object.entries(responses).flatMap(([status, response]) => {
        if (Number(status) < 400) return [];
        const { schema, examples } = resolve(response).content['application/problem+json']!;
        const code = resolve(schema).allOf?.[1]?.properties?.['code'];
        for (const [name, { value }] of Object.entries(examples)) {
          expect([operationId, name, value.code, String(value.status)]).toEqual([operationId, name, name, status]);
          expect([operationId, name, accepts(schema, value)]).toEqual([operationId, name, true]);
          expect(accepts(schema, { ...value, code: 'other.code' })).toBe(false);
        }
        expect([operationId, Object.keys(examples)]).toEqual([operationId, code?.enum]);
        for (const one of code?.enum ?? []) expect(errorCodes[one as ErrorCode].status).toBe(Number(status));
        return code?.enum ?? [];
      });
      expect(promised).toEqual(expect.arrayContaining(operation['x-error-codes']));
    }
  });

  it('declares every number as an integer with a format', () => {
    const numbers = schemasIn(document).filter(([, schema]) =>
      typesOf(schema).some((type) => /number|integer/.test(type)),
    );
    expect(numbers.length).toBeGreaterThan(40);
    expect(
      numbers.filter(([, schema]) => typesOf(schema).includes('number') || !/^int(32|64)$/.test(schema.format ?? '')),
    ).toEqual([]);
  });

  it('declares every id as a UUID, except ids that are text', () => {
    const texts = ['carrier_id', 'client_id', 'request_id'];
    const ids = properties.filter(({ field }) => /_id$|_by$/.test(field) && !texts.includes(field));
    expect(ids.length).toBeGreaterThan(20);
    expect(ids.filter(({ schema }) => schema.format !== 'uuid').map(({ name }) => name)).toEqual([]);
    const inPaths = operations
      .flatMap(parametersOf)
      .filter(({ in: place, name }) => place === 'path' && /_id$/.test(name));
    expect(inPaths.filter(({ schema }) => schema.format !== 'uuid')).toEqual([]);
  });

  it('names every enum, so that clients have one type for it', () => {
    const named = Object.keys(schemas).filter((name) => schemas[name]?.enum !== undefined);
    expect(named).toEqual(expect.arrayContaining(['UserType', 'UserStatus', 'OperationStatus', 'SortDirection']));
    // In Go, the constants of all enums share one namespace.
    const constants = named
      .flatMap((name) => schemas[name]?.['x-enum-varnames'] ?? schemas[name]?.enum ?? [])
      .map((constant) => constant.toUpperCase().replaceAll('-', '_'));
    expect(constants.filter((constant, index) => constants.indexOf(constant) !== index)).toEqual([]);
    const inline = schemasIn(document)
      .filter(([path, schema]) => schema.type !== undefined && schema.enum !== undefined && !isComponent(path))
      .map(([path]) => path);
    // The codes of a problem belong to one response.
    expect(inline.filter((path) => !/Problem\/allOf\/1\/properties\/code$/.test(path))).toEqual([]);
  });

  it('declares lists of values as one comma-separated parameter', () => {
    const lists = operations.flatMap(parametersOf).filter(({ schema }) => schema.type === 'array');
    expect(lists.every(({ name }) => name.endsWith('_in'))).toBe(true);
    expect(lists.filter(({ style, explode }) => style !== 'form' || explode !== false)).toEqual([]);
  });

  it('tells the alternatives of a response apart by a discriminator', () => {
    const unions = Object.values(schemas).filter(({ oneOf }) => oneOf !== undefined);
    expect(unions).toHaveLength(2);
    for (const { oneOf = [], discriminator } of unions) {
      const { propertyName, mapping } = discriminator!;
      expect(new Set(Object.values(mapping))).toEqual(new Set(oneOf.map(({ $ref }) => $ref)));
      for (const [value, target] of Object.entries(mapping)) {
        const field = resolve((componentAt(target) as Schema).properties![propertyName]!);
        expect([target, field.enum ?? [field.const]]).toEqual([target, expect.arrayContaining([value])]);
      }
    }
    const inline = schemasIn(document.paths).filter(([, schema]) => schema.oneOf !== undefined);
    expect(inline).toEqual([]);
  });

  it('describes every schema, and closes requests but not responses to further fields', () => {
    const silent = Object.entries(schemas).filter(([, { description = '' }]) => description.length < 5);
    expect(silent.map(([name]) => name)).toEqual([]);
    const closed = Object.entries(schemas).filter(([, schema]) => schema.additionalProperties === false);
    const requests = Object.keys(schemas).filter((name) => /Request$/.test(name));
    // openapi-generator cannot read closed forms.
    expect(closed.map(([name]) => name).sort()).toEqual(requests.filter((name) => !/^Introspection/.test(name)).sort());
  });

  it('gives every property and parameter an example that its schema accepts', () => {
    expect(properties.filter(({ schema }) => !hasExample(schema)).map(({ name }) => name)).toEqual([]);
    const wrong = properties.filter(({ schema }) => schema.example !== undefined && !accepts(schema, schema.example));
    expect(wrong.map(({ name, schema }) => [name, schema.example])).toEqual([]);
    const parameters = operations.flatMap((operation) =>
      parametersOf(operation).map(({ name, schema, example }) => ({
        name: `${operation.operationId} ${name}`,
        ...{ schema, example },
      })),
    );
    expect(parameters.filter(({ example }) => example === undefined).map(({ name }) => name)).toEqual([]);
    expect(parameters.filter(({ schema, example }) => !accepts(schema, example)).map(({ name }) => name)).toEqual([]);
  });

  it('gives every body an example that its schema accepts', () => {
    const bodies = operations.flatMap(({ operationId, requestBody }) =>
      Object.entries(requestBody?.content ?? {}).map(([type, content]) => ({
        name: `${operationId} ${type}`,
        ...content,
      })),
    );
    expect(bodies.length).toBeGreaterThan(12);
    expect(bodies.filter(({ schema, example }) => example === undefined || !accepts(schema, example))).toEqual([]);
  });

  it('lists filters after all other parameters', () => {
    for (const operation of operations) {
      const flags = parametersOf(operation).map((parameter) => Number(parameter['x-filter'] !== undefined));
      expect([operation.operationId, flags]).toEqual([operation.operationId, [...flags].sort()]);
    }
  });

  it('lets generators leave out the lists of a body that were not set', () => {
    const lists = properties.filter(({ owner, schema }) => /Request$/.test(owner) && typesOf(schema).includes('array'));
    const required = (owner: string, field: string) =>
      (schemas[owner] as { required?: string[] }).required?.includes(field) === true;
    const filled = lists.filter(({ owner, field, schema }) => !required(owner, field) && schema['x-nullable'] !== true);
    expect(lists.length).toBeGreaterThan(10);
    expect(filled.map(({ name }) => name)).toEqual([]);
  });

  it('states the issuer and the audience of tokens', () => {
    const text = readFileSync('openapi.json', 'utf8');
    expect(text).toMatch(/`aud` `carrier-platform`.*`iss`/);
    expect(schemas['IntrospectionResponse']?.properties?.['iss']?.description).toContain('public URL');
    expect(schemas['IntrospectionResponse']?.properties?.['aud']?.description).toContain('carrier-platform');
  });
});
