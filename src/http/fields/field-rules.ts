import { getMetadataStorage, ValidateBy } from 'class-validator';
import { type Fault, type FieldError, invalid } from '../errors/app-error';

/** A requirement on a value, with the error of a value that does not meet it. */
export interface Rule extends Fault {
  passes: (value: unknown) => boolean;
}

/** The rules of a request field. */
export interface FieldRules {
  optional: boolean;
  nullable: boolean;
  /** in order; the first rule that fails becomes the error */
  rules: Rule[];
  /** converts a value to the form that is validated and stored */
  canonical?: ((value: unknown) => unknown) | undefined;
}

/** A request class. */
export type RequestClass<Fields extends object = object> = abstract new () => Fields;

/** The rules of the fields of a class by name, including inherited and derived rules. */
type Fields = ReadonlyMap<string, FieldRules[]>;

const known = new WeakMap<RequestClass, Fields>();

/**
 * Registers the rules of a field with class-validator.
 * `fieldsOf` reads the rules from there, so that classes may inherit fields, or be derived with
 * `PickType`, `OmitType` or `IntersectionType`. `PartialType` is not supported.
 */
export function ValidateRules(rules: FieldRules): PropertyDecorator {
  const validator = { validate: (value: unknown) => faultOf(rules, value) === null };
  return ValidateBy({ name: 'fieldRules', constraints: [rules], validator });
}

/** Returns the rules of the fields of a request class. */
export function fieldsOf(type: RequestClass): Fields {
  const found = known.get(type) ?? registeredFields(type);
  known.set(type, found);
  return found;
}

function registeredFields(type: RequestClass): Fields {
  const fields = new Map<string, FieldRules[]>();
  for (const { propertyName, constraints } of getMetadataStorage().getTargetValidationMetadatas(type, '', false, false))
    fields.set(propertyName, [...(fields.get(propertyName) ?? []), ...(constraints as FieldRules[])]);
  return fields;
}

/**
 * Checks a plain object against the fields of a request class, at a tenth of the cost of Nest's
 * validation pipe. Replaces values of the object by their canonical form.
 */
export function checkFields(fields: Fields, values: Record<string, unknown>): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of Object.keys(values)) if (!fields.has(name)) errors.push(unknownField(name));
  for (const [name, rules] of fields) {
    for (const { canonical } of rules)
      if (canonical !== undefined && values[name] !== undefined) values[name] = canonical(values[name]);
    const fault = firstFault(rules, values[name]);
    if (fault !== null) errors.push({ pointer: pointerTo(name), ...fault });
  }
  return errors;
}

/**
 * Reads a body by the rules of its class, for routes that cannot wait for the validation pipe.
 * Treats a missing body as an empty one.
 * @throws request.invalid
 */
export function readFields<Fields extends object>(type: RequestClass<Fields>, body: unknown): Fields {
  const values = (body ?? {}) as Record<string, unknown>;
  const errors = checkFields(fieldsOf(type), values);
  if (errors.length > 0) throw invalid(...errors);
  return values as Fields;
}

/** Returns the JSON pointer to a field (RFC 6901). */
export function pointerTo(name: string): string {
  return `/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`;
}

function firstFault(rules: FieldRules[], value: unknown): Fault | null {
  return rules.map((rule) => faultOf(rule, value)).find((fault) => fault !== null) ?? null;
}

function faultOf({ optional, nullable, rules }: FieldRules, value: unknown): Fault | null {
  if (value === undefined) return optional ? null : { code: 'field.required', detail: 'is required' };
  if (value === null && nullable) return null;
  const failed = rules.find(({ passes }) => !passes(value));
  if (failed === undefined) return null;
  const { code, detail, params } = failed;
  return { code, detail, params };
}

function unknownField(name: string): FieldError {
  return { pointer: pointerTo(name), code: 'field.unknown', detail: 'is not a field of this operation' };
}
