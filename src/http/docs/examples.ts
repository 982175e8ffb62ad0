import type { Components, Schema } from './document-types';

const time = '2026-11-20T13:00:00.000Z';
const uuid = '0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70';
const nameIn = ($ref: string) => $ref.split('/').at(-1) ?? '';
const operators = /_(ne|in|gt|gte|lt|lte|isnull|like)$/;

/**
 * The examples of the document. A field or parameter without an own example takes the example of
 * the first field with the same name, of a user if possible. Times, booleans and enums need none.
 */
export class Examples {
  private readonly own = new Map<string, unknown>();

  constructor(private readonly schemas: Components['schemas']) {
    for (const { properties = {} } of [schemas['UserResponse'] ?? {}, ...Object.values(schemas)])
      for (const [name, { example }] of Object.entries(properties))
        if (example !== undefined && !this.own.has(name)) this.own.set(name, example);
  }

  /** Returns the example of a field or parameter, or undefined if there is none. */
  ofField(name: string, schema: Schema): unknown {
    const { example, const: only, anyOf, items, format, type } = schema;
    if (example !== undefined || only !== undefined) return example ?? only;
    const { $ref } = anyOf?.[0] ?? schema;
    if ($ref !== undefined) return this.schemas[nameIn($ref)]?.example;
    if (format === 'date-time') return time;
    const plain = name.replace(operators, '');
    // A filter such as `role` selects an item of `roles`.
    const list = this.own.get(`${plain}s`);
    const found = this.own.get(name) ?? this.own.get(plain) ?? (Array.isArray(list) ? (list[0] as unknown) : undefined);
    if (items !== undefined && !Array.isArray(found)) {
      const item = this.ofField(name, items);
      return item === undefined ? undefined : [item];
    }
    if ([type].flat().includes('boolean')) return typeof found === 'boolean' ? found : true;
    return found ?? (format === 'uuid' ? uuid : undefined);
  }

  /** Returns a body with its required fields, and as many of the next ones as it must have. */
  ofBody({ $ref = '' }: Schema = {}, required = false): object {
    const { properties = {}, then, minProperties = 0, ...schema } = this.schemas[nameIn($ref)] ?? {};
    const names = [...(schema.required ?? []), ...(then?.required ?? [])];
    const all = Object.keys(properties);
    const missing = Math.max(minProperties, Number(required)) - names.length;
    const next = all.indexOf(names.at(-1) ?? '') + 1;
    if (missing > 0) names.push(...all.slice(next, next + missing));
    const fields = Object.entries(properties).filter(([name]) => names.includes(name));
    return Object.fromEntries(fields.map(([name, property]) => [name, this.ofField(name, property)]));
  }
}
