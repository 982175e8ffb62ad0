import { namedEnums } from '../../platform/named-enum';
import { type Components, pascalCase, refTo, type Schema } from './document-types';
import { Examples } from './examples';

/**
 * Rejects the fields `others` in an object with the field `name`. Uses `dependentSchemas`, because
 * client generators create extra classes for a `not` of the object.
 */
const excludes = (name: string, ...others: string[]) => ({
  [name]: { properties: Object.fromEntries(others.map((other) => [other, { not: {} }])) },
});
/**
 * Rules between the fields of a body, which field decorators cannot express.
 * Services enforce them.
 */
const betweenFields: Record<string, object> = {
  CheckTokenRequest: {
    dependentSchemas: { ...excludes('token', 'refresh_token', 'transport'), ...excludes('refresh_token', 'transport') },
  },
  LogoutRequest: { dependentSchemas: excludes('refresh_token', 'transport') },
  ChangeFoundUsersRequest: { minProperties: 1, dependentSchemas: excludes('roles', 'roles_add', 'roles_remove') },
  // The challenge, exactly one proof, and optionally `transport`.
  SecondFactorRequest: {
    minProperties: 2,
    dependentSchemas: {
      transport: { minProperties: 3 },
      ...excludes('code', 'recovery_code', 'passkey'),
      ...excludes('recovery_code', 'passkey'),
    },
  },
  ReauthenticateRequest: {
    minProperties: 1,
    maxProperties: 2,
    dependentRequired: { passkey: ['challenge'], challenge: ['passkey'] },
  },
  CreateUserRequest: {
    if: { properties: { user_type: { const: 'carrier' } } },
    then: { required: ['carrier_id'], properties: { carrier_id: { type: 'string' }, carrier_scope: { type: 'null' } } },
    else: { properties: { carrier_id: { type: 'null' } } },
  },
};
/** Form bodies. openapi-generator does not support `additionalProperties: false` for forms. */
const forms = ['IntrospectionRequest'];
/** Names of fields that contain a UUID, besides those that end in `_id`. */
const uuidFields = ['created_by', 'ended_by', 'revoked_by', 'undo_of', 'undone_by', 'sub', 'sid', 'jti'];
/** Names that end in `_id` without being a UUID. */
const textIds = ['carrier_id', 'client_id', 'request_id', 'ChangeResponse.target_id'];

/** Completes the schemas of the DTO classes, and returns their examples. */
export function completeSchemas({ schemas }: Components, docstrings: Map<string, string>): Examples {
  const examples = new Examples(schemas);
  for (const [name, schema] of Object.entries(schemas)) {
    const description = docstrings.get(name);
    if (description !== undefined) schema.description ??= description;
    // Responses stay open: clients must accept fields that a later version adds.
    if (name.endsWith('Request') && !forms.includes(name)) schema.additionalProperties ??= false;
    for (const [field, property] of Object.entries(schema.properties ?? {})) {
      completeProperty(name, field, property);
      property.example ??= examples.ofField(field, property);
      // Generators cannot derive an example from the pattern of a string.
      const { items, example } = property;
      if (items?.pattern !== undefined && Array.isArray(example)) items.example ??= example[0];
    }
    Object.assign(schema, betweenFields[name]);
  }
  return examples;
}

function completeProperty(schema: string, field: string, property: Schema): void {
  makeIntegers(property);
  const types = [property.type].flat();
  const isText = [field, `${schema}.${field}`].some((name) => textIds.includes(name));
  const isId = uuidFields.includes(field) || (field.endsWith('_id') && !isText);
  if (isId && types.includes('string')) property.format ??= 'uuid';
}

/** Declares every number as an integer: the API has no fractions. */
export function makeIntegers(schema: Schema): void {
  const types = [schema.type].flat();
  if (types.includes('number')) {
    const integers = types.map((type) => (type === 'number' ? 'integer' : type)) as string[];
    Object.assign(schema, { type: integers.length === 1 ? integers[0] : integers, format: 'int64' });
  }
  if (schema.items !== undefined) makeIntegers(schema.items);
  if (typeof schema.additionalProperties === 'object' && schema.additionalProperties !== null)
    makeIntegers(schema.additionalProperties);
}

type Enums = Map<string, { name: string; schema: Schema }>;

const keyOf = (values: readonly unknown[]) => JSON.stringify([...values].sort());

/**
 * Replaces each enum by a reference to the schema with its name, and an enum of one value without
 * a name by `const`.
 */
export function nameEnums({ schemas }: Components, root: object): void {
  const enums: Enums = new Map();
  for (const [name, values] of namedEnums) {
    const schema: Schema = { type: 'string', enum: [...values], example: values[0] };
    if (name.endsWith('_sort')) schema.description = 'Sort field of the list.';
    // Generators would write the constants in different ways, such as EMAIL_MINUS_CONFIRMATION.
    schema['x-enum-varnames'] = values.map((value) => value.toUpperCase().replace(/\W/g, '_'));
    enums.set(keyOf(values), { name: pascalCase(name), schema });
  }
  replaceEnums(root, enums);
  const sorted = [...enums.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const { name, schema } of sorted) schemas[name] = schema;
}

function replaceEnums(node: unknown, enums: Enums): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [name, child] of Object.entries(node)) {
    if (name === 'example' || name === 'examples') continue;
    const { type, enum: values } = (child ?? {}) as Schema;
    if (!Array.isArray(values) || ![type].flat().includes('string')) replaceEnums(child, enums);
    else Object.assign(node, { [name]: named(child as Schema, values, enums) });
  }
}

function named(schema: Schema, all: unknown[], enums: Enums): Schema {
  const values = all.filter((value) => value !== null);
  const found = enums.get(keyOf(values));
  const { description, type, default: fallback } = schema;
  const texts = description === undefined ? {} : { description };
  if (found === undefined) return values.length === 1 ? { type, const: values[0], ...texts } : schema;
  // Generators do not support a default beside `$ref`.
  if (fallback !== undefined) found.schema.example = found.schema.default ??= fallback;
  const ref = refTo('schemas', found.name);
  return [type].flat().includes('null') ? { anyOf: [ref, { type: 'null' }], ...texts } : { ...ref, ...texts };
}
