import type { ErrorCode } from '../errors/error-codes';

/** A JSON schema, as far as the document uses it. */
export interface Schema {
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  description?: string;
  title?: string;
  example?: unknown;
  additionalProperties?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  required?: string[];
  minProperties?: number;
  then?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  minLength?: number;
  pattern?: string;
  $ref?: string;
  'x-enum-varnames'?: string[];
}

/** A parameter, or a reference to one. */
export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
  'x-filter'?: string;
}

/** The bodies of a request or a response, by media type. */
export type Content = Record<string, { schema?: Schema; example?: unknown; examples?: Record<string, unknown> }>;

/** A response of an operation. */
export interface Response {
  description: string;
  content?: Content;
  headers?: Record<string, unknown>;
}

/** An operation. */
export interface Operation {
  operationId: string;
  description?: string;
  security?: unknown[];
  requestBody?: { content: Content; required?: boolean };
  parameters?: (Parameter | { $ref: string })[];
  responses: Record<string, Response | { $ref: string }>;
  'x-error-codes'?: ErrorCode[];
  'x-permission'?: string;
  'x-keys'?: boolean;
  'x-fresh-auth'?: boolean;
  'x-fresh-auth-if'?: string;
}

/** The components that operations share. */
export interface Components {
  schemas: Record<string, Schema>;
  parameters: Record<string, Parameter>;
  responses: Record<string, Response>;
  headers: Record<string, unknown>;
}

/** An operation with its place in the document. */
export interface PlacedOperation {
  path: string;
  method: string;
  operation: Operation;
}

/** Returns a reference to a component. */
export function refTo(kind: keyof Components, name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Returns a text in PascalCase: `user.not_found` becomes `UserNotFound`. */
export function pascalCase(text: string): string {
  return text.replace(/(?:^|[._-])([A-Za-z0-9])/g, (_match, first: string) => first.toUpperCase());
}
