import { document } from './document';

/** What the document says of one field of a body. */
export interface BodyField {
  name: string;
  type: 'string' | 'boolean' | 'array' | 'object';
  nullable: boolean;
  required: boolean;
}

/** An operation that takes a JSON body. */
export interface BodyOperation {
  method: string;
  /** path with an existing user's id, or with the token of no link, the name of no role */
  url: string;
  fields: BodyField[];
}

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
}

/**
 * Every operation of the document that takes a body; the change of found users works on the user
 * alone.
 */
export function bodyOperations(user_id: string): BodyOperation[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const { requestBody } = operation as { requestBody?: { content: Record<string, { schema: { $ref: string } }> } };
      const reference = requestBody?.content['application/json']?.schema.$ref.split('/').at(-1);
      if (reference === undefined) return [];
      const schema = document.components.schemas[reference] as Schema;
      const url =
        path.replace('{user_id}', user_id).replace('{token}', 'A'.repeat(43)).replace('{role}', 'no-such-role') +
        (path === '/user/all' ? `?user_id=${user_id}` : '');
      return [{ method: method.toUpperCase(), url, fields: fieldsOf(schema) }];
    }),
  );
}

/** Query parameters of every operation that reads them, as `[method, path, names]`. */
export function queryOperations(): [method: string, path: string, parameters: string[]][] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [] }]) => {
      const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
      return names.length === 0 || path.includes('{')
        ? []
        : [[method.toUpperCase(), path, names] as [string, string, string[]]];
    }),
  );
}

function fieldsOf({ properties = {}, required = [] }: Schema): BodyField[] {
  return Object.entries(properties).map(([name, { type }]) => {
    const types = [type ?? []].flat();
    const [kind] = types.filter((one) => one !== 'null');
    return {
      name,
      type: kind as BodyField['type'],
      nullable: types.includes('null'),
      required: required.includes(name),
    };
  });
}
