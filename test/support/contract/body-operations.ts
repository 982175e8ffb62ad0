import { document, type Schema } from './document';

/** A documented field of a body. */
export interface BodyField {
  name: string;
  /** `choice`: a string or an array of strings */
  type: 'string' | 'boolean' | 'integer' | 'array' | 'object' | 'choice';
  nullable: boolean;
  required: boolean;
}

/** An operation that takes a JSON body. */
export interface BodyOperation {
  method: string;
  /** path with the id of an existing user, an unknown link token or an unknown role */
  url: string;
  fields: BodyField[];
}

/** Returns every operation with a body. The bulk change affects only the given user. */
export function bodyOperations(user_id: string): BodyOperation[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { requestBody }]) => {
      const reference = requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1);
      if (reference === undefined) return [];
      const schema = document.components.schemas[reference] ?? {};
      const url =
        path
          .replace(/\{\w+_id\}/, user_id)
          .replace('{token}', 'A'.repeat(43))
          .replace('{role}', 'no-such-role') + (path === '/user/all' ? `?user_id=${user_id}` : '');
      return [{ method: method.toUpperCase(), url, fields: fieldsOf(schema) }];
    }),
  );
}

/** Returns the query parameters of every operation as `[method, path, names]`. */
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
      type: (kind ?? 'choice') as BodyField['type'],
      nullable: types.includes('null'),
      required: required.includes(name),
    };
  });
}
