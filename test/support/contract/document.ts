import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';

/** A parameter of an operation. */
export interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  description?: string;
  schema: Schema;
  example?: unknown;
  style?: string;
  explode?: boolean;
  'x-filter'?: string;
}

/** The body of the requests of an operation. */
export interface RequestBody {
  required?: boolean;
  content: Record<string, { schema: Schema; example?: unknown }>;
}

/** An operation of the OpenAPI document. */
export interface Operation {
  operationId: string;
  summary?: string;
  parameters?: Parameter[];
  requestBody?: RequestBody;
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
  'x-error-codes'?: string[];
  'x-permission'?: string;
  'x-keys'?: boolean;
  'x-fresh-auth'?: boolean;
  'x-long-work'?: boolean;
  'x-fresh-auth-if'?: string;
}

/** A schema of the OpenAPI document. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: string[];
  const?: string;
  description?: string;
  example?: unknown;
  required?: string[];
  additionalProperties?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  'x-nullable'?: boolean;
  'x-enum-varnames'?: string[];
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** The committed OpenAPI document, as it is. */
export const committedDocument = JSON.parse(readFileSync('openapi.json', 'utf8')) as Document;

/** The committed document with shared parameters, responses, headers and enums in place. */
export const document = inPlace(committedDocument) as Document;

/** Returns the properties of a schema of the document. */
export function propertiesOf(schema: string): Record<string, Schema> {
  return document.components.schemas[schema]?.properties ?? {};
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addSchema({ $id: 'doc', ...closed(document) });
const routes = Object.entries(document.paths)
  .map(([path, operations]) => ({
    path,
    operations,
    pattern: new RegExp(`^${path.replace(/\./g, '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`),
  }))
  .sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')));

/** Fails unless the document declares the status of a response, and its schema accepts the body. */
export function assertDocumented(method: string, url: string, status: number, contentType: string, body: string): void {
  const path = url.split('?')[0] ?? '';
  const route = routes.find(
    ({ pattern, operations }) => pattern.test(path) && operations[method.toLowerCase()] !== undefined,
  );
  if (route === undefined || contentType.startsWith('text/html')) return;
  const where = `${method} ${route.path} ${status}`;
  const response = route.operations[method.toLowerCase()]?.responses[String(status)];
  if (response === undefined)
    throw new Error(`${where}: the document does not know this status. Body: ${body.slice(0, 300)}`);
  const media = contentType.split(';')[0] ?? '';
  const documented = response.content?.[media];
  if (documented === undefined) {
    if (body !== '') throw new Error(`${where}: the document does not know ${media}`);
    return;
  }
  const operation = `doc#/paths/${escape(route.path)}/${method.toLowerCase()}`;
  const pointer = `${operation}/responses/${status}/content/${escape(media)}/schema`;
  const validate = ajv.getSchema(pointer);
  if (validate === undefined) throw new Error(`${where}: no schema`);
  const parsed: unknown = isJson(media) ? JSON.parse(body) : body;
  if (validate(parsed) !== true)
    throw new Error(`${where}: ${ajv.errorsText(validate.errors)}. Body: ${body.slice(0, 500)}`);
}

/** Returns whether a body of this type is a single JSON value, unlike NDJSON. */
export function isJson(type: string): boolean {
  return /^application\/(problem\+)?json\b/.test(type);
}

/** Returns the component that a reference points to. */
export function componentAt(reference: string): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], committedDocument);
}

function inPlace(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(inPlace);
  if (typeof node !== 'object' || node === null) return node;
  const { $ref: reference, ...siblings } = node as { $ref?: string };
  const found = reference === undefined ? null : (componentAt(reference) as object);
  // References between objects stay, because some are recursive and ajv follows them.
  const stays = found !== null && reference?.includes('/schemas/') === true && !('enum' in found);
  if (found !== null && !stays) return inPlace({ ...found, ...siblings });
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, inPlace(value)]));
}

/**
 * Rejects fields of responses that the document does not name. Clients must accept them.
 * The problems of some codes add members to `ProblemResponse`.
 */
function closed(open: Document): Document {
  const schemas = Object.entries(open.components.schemas).map(([name, schema]) => {
    if (schema.allOf !== undefined) return [name, { unevaluatedProperties: false, ...schema }];
    const isOpen = schema.properties === undefined || name === 'ProblemResponse';
    return [name, isOpen ? schema : { additionalProperties: false, ...schema }];
  });
  return {
    ...open,
    components: { ...open.components, schemas: Object.fromEntries(schemas) as Document['components']['schemas'] },
  };
}

function escape(part: string): string {
  return encodeURIComponent(part.replace(/~/g, '~0').replace(/\//g, '~1'));
}
