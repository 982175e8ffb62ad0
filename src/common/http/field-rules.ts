import { type FieldError, invalid } from '../errors/app-error';

/** One thing that a value must be. */
export interface Rule {
  /** code of the field error, such as `field.too_long` */
  code: string;
  /** what it wants, for a person */
  wants: string;
  passes: (value: unknown) => boolean;
}

/** What a field of a request must be. */
export interface FieldRules {
  optional: boolean;
  nullable: boolean;
  /** in order; the first that fails is told */
  rules: Rule[];
  /** the one form of a value that is validated and kept */
  canonical?: ((value: unknown) => unknown) | undefined;
}

const byPrototype = new WeakMap<object, Map<string, FieldRules>>();

/** Notes what a field of a request class must be; the field decorators do. */
export function registerField(prototype: object, name: string, rules: FieldRules): void {
  const known = byPrototype.get(prototype) ?? new Map<string, FieldRules>();
  byPrototype.set(prototype, known.set(name, rules));
}

/** Every field of a request class, with those that it inherits. */
export function fieldsOf(type: { prototype: object }): Map<string, FieldRules> {
  const chain: object[] = [];
  for (let at: object | null = type.prototype; at !== null; at = Object.getPrototypeOf(at) as object | null)
    chain.unshift(at);
  return new Map(chain.flatMap((prototype) => [...(byPrototype.get(prototype) ?? [])]));
}

/**
 * Checks a plain object by the rules of a request class, as the validation pipe does with a body,
 * at a tenth of its price: for rows that come by the million. Brings canonical values into the
 * object. @returns each bad field
 */
export function checkFields(fields: Map<string, FieldRules>, values: Record<string, unknown>): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of Object.keys(values)) {
    if (!fields.has(name))
      errors.push({ pointer: pointerTo(name), code: 'field.unknown', detail: 'is not a field of this operation' });
  }
  for (const [name, { optional, nullable, rules, canonical }] of fields) {
    let value = values[name];
    if ((optional && value === undefined) || (nullable && value === null)) continue;
    if (canonical !== undefined) value = values[name] = canonical(value);
    const failed = rules.find(({ passes }) => !passes(value));
    if (failed === undefined) continue;
    errors.push(
      value === undefined
        ? { pointer: pointerTo(name), code: 'field.required', detail: 'is required' }
        : { pointer: pointerTo(name), code: failed.code, detail: failed.wants },
    );
  }
  return errors;
}

/**
 * A body by the rules of its class, for the few routes that cannot wait for the validation pipe;
 * none at all is an empty one. @throws request.invalid
 */
export function readFields<Fields extends object>(type: { prototype: Fields }, body: unknown): Fields {
  const values = (body ?? {}) as Record<string, unknown>;
  const errors = checkFields(fieldsOf(type), values);
  if (errors.length > 0) throw invalid(...errors);
  return values as Fields;
}

/** JSON pointer to a field (RFC 6901). */
export function pointerTo(name: string): string {
  return `/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`;
}
