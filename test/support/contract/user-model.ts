import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { document, propertiesOf } from './document';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** A user of the model: the response fields that filters compare. */
export interface ModelUser {
  user_id: string;
  user_type: string;
  carrier_id: string | null;
  roles: string[];
  attributes: Record<string, Json>;
  deleted_at: string | null;
  last_seen_at: string | null;
  [field: string]: Json;
}

/** A parameter with the seed of its value, which depends on the existing users. */
export interface Condition {
  parameter: string;
  seeds: number[];
}

const suffixes = ['ne', 'in', 'gt', 'gte', 'lt', 'lte', 'isnull', 'like'];
const paging = ['order_by', 'order_dir', 'per_page', 'page', 'cursor', 'count', 'deleted'];
const parameters = (document.paths['/user/list']?.['get']?.parameters ?? []) as unknown as {
  name: string;
  schema: { enum?: string[] };
}[];
/** All filter parameters of the document, and two attributes. */
export const filters = [
  ...parameters.map(({ name }) => name).filter((name) => !paging.includes(name)),
  'attributes.a',
  'attributes.b',
];
/** All sorts of the document. */
export const sorts = parameters.find(({ name }) => name === 'order_by')?.schema.enum ?? [];
const plainFields = filters.filter((name) => !suffixes.some((suffix) => name.endsWith(`_${suffix}`)));

const days = [
  '2025-12-31T23:59:59.999Z',
  '2026-01-01T00:00:00.000Z',
  '2026-01-01T00:00:00.001Z',
  '2026-06-01T12:00:00.000Z',
];
const text = fc
  .array(
    fc.constantFrom(' ', 'a', 'b', 'A', 'B', 'ä', 'Ä', 'é', '%', '_', '\\', "'", 'ß', '1', ',', ';', ':', '.', '-'),
    { maxLength: 8 },
  )
  .map((characters) => characters.join(''));
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 2 });
const time = fc.constantFrom(...days);
const json: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json[]>('gold', 'true', '1', 'null', '', 1, 0, -1, 1.5, true, false, null, ['gold'], { a: 'gold' }),
  fc.maxSafeInteger(),
  text,
);

const given = propertiesOf('CreateUserRequest');
const shown = propertiesOf('UserResponse');
/** Fields with the pattern of the first name, which accepts any text. `q` searches all of them. */
const freeTexts = Object.keys(given).filter((name) => given[name]?.pattern === given['first_name']?.pattern);
const isNullable = (name: string) => shown[name]?.type?.includes('null') === true;

/** A user to create. */
export const modelUser = fc
  .record({
    carrier: orNull(fc.constantFrom('c1', 'c2', 'C1', 'carrier.a_1')),
    ...Object.fromEntries(freeTexts.map((name) => [name, isNullable(name) ? orNull(text) : text])),
    phone: orNull(fc.constantFrom('+4312345678', '+4312345679')),
    locale: orNull(fc.constantFrom('de', 'de-AT', 'en')),
    timezone: orNull(fc.constantFrom('Europe/Vienna', 'UTC')),
    roles: fc.subarray(['administrator', 'carrier_user', 'other']),
    status: fc.constantFrom('invited', 'active', 'disabled'),
    last_login_ip: orNull(fc.constantFrom('10.0.0.1', '10.0.0.2', '10.1.0.1', '192.0.2.7')),
    must_change_password: fc.boolean(),
    second_factors: fc.subarray(['totp', 'passkey']),
    attributes: fc.dictionary(fc.constantFrom('a', 'b'), json).map((attributes) => ({ ...attributes })),
    created_at: time,
    updated_at: time,
    last_login_at: orNull(time),
    last_seen_at: orNull(fc.oneof(time, fc.constant('now'))),
    password_changed_at: orNull(time),
    deleted_at: fc.option(time, { nil: null, freq: 9 }),
    prefix: fc.constantFrom('ab', 'Ab', 'a.b', 'b_a', 'B-a'),
    locked_until: orNull(time),
  })
  .map(({ carrier, prefix, ...fields }) => ({
    ...fields,
    prefix,
    user_type: carrier === null ? 'system' : 'carrier',
    carrier_id: carrier,
  }));

const condition: fc.Arbitrary<Condition> = fc.record({
  parameter: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...filters) },
    fc.constantFrom('q', 'attributes.a', 'attributes.b'),
  ),
  seeds: fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
});
/** The query of a list. */
export const question = fc
  .record({
    conditions: fc.uniqueArray(condition, { maxLength: 3, selector: ({ parameter }) => parameter }),
    sort: fc.constantFrom(...sorts),
    direction: fc.constantFrom('asc', 'desc'),
    per_page: fc.integer({ min: 2, max: 9 }),
    deleted: fc.boolean(),
  })
  .map((one) => ({
    ...one,
    deleted: one.deleted || needsDeleted([one.sort, ...one.conditions.map(({ parameter }) => parameter)]),
  }));

/** Returns whether only a list of deleted users has one of these filters or sort fields. */
export function needsDeleted(names: string[]): boolean {
  return names.some((name) => name.startsWith('deleted_at'));
}

/** Returns the field and operator of a parameter. */
function partsOf(parameter: string): [string, string] {
  if (plainFields.includes(parameter)) return [parameter, 'eq'];
  const suffix = suffixes.find((one) => parameter.endsWith(`_${one}`)) ?? '';
  return [parameter.slice(0, -suffix.length - 1), suffix];
}

/** Returns the value of a field as filters see it; null without text. */
function valuesOf(user: ModelUser, field: string): string[] {
  if (field === 'role') return user.roles;
  if (field === 'online') return [String(isOnline(user))];
  if (field === 'must_enroll_second_factor')
    return [String(user.roles.includes('other') && (user['second_factors'] as string[]).length === 0)];
  if (field === 'has_second_factor') return [String((user['second_factors'] as string[]).length > 0)];
  const value = field.startsWith('attributes.') ? user.attributes[field.slice(11)] : user[field];
  return value === null || value === undefined || typeof value === 'object' ? [] : [String(value)];
}

function isTimeField(field: string): boolean {
  return field.endsWith('_at') || field === 'locked_until';
}

function isOnline({ last_seen_at }: ModelUser): boolean {
  return last_seen_at !== null && Date.parse(last_seen_at) > Date.now() - 300_000;
}

function searchText(user: ModelUser): string {
  return ['name', 'email', ...freeTexts]
    .map((field) => ` ${(user[field] ?? '') as string}`)
    .join('')
    .toLowerCase();
}

/** Returns a value for a condition, mostly one of an existing user. */
export function valueFor({ parameter, seeds }: Condition, users: ModelUser[]): string {
  const [field, operator] = partsOf(parameter);
  const enumerated = parameters.find(({ name }) => name === field)?.schema.enum;
  const strangers: Record<string, string[]> = {
    user_id: [randomUUID()],
    online: ['true'],
    must_change_password: ['true'],
    has_second_factor: ['true'],
    must_enroll_second_factor: ['true'],
    last_login_ip: ['10.0.0.0/8', '0.0.0.0/0', '10.0.0.0/31'],
  };
  const pick = <T>(from: T[], seed = 0) => from[seed % from.length] as T;
  const isTime = isTimeField(field);
  const held = users
    .flatMap((user) => (field === 'q' ? searchText(user).split(/\s+/) : valuesOf(user, field)))
    .filter((value) => value !== '');
  const candidates = [...held, ...(enumerated ?? strangers[field] ?? (isTime ? days : ['nobody']))];
  const [first = 0, second = 0, third = 0, length = 0, start = 0, kind = 0] = seeds;
  const one = pick(candidates, first);
  if (operator === 'isnull') return String(kind % 2 === 0);
  if (operator === 'in')
    return [one, pick(candidates, second), pick(candidates, third)]
      .slice(0, 1 + (length % 3))
      .map((value) => (value.includes(',') ? 'nobody' : value))
      .join();
  const cut = [...one].slice(start % 3, (start % 3) + (operator === 'like' ? 3 : 1) + (length % 5)).join('');
  if (operator === 'like') return [...cut].length < 3 ? 'aba' : kind % 2 === 0 ? cut : cut.toUpperCase();
  if (field === 'q')
    return (
      [cut, pick(candidates, second)]
        .slice(0, 1 + (kind % 2))
        .join(' ')
        .trim() || 'a'
    );
  return one;
}

/** Returns whether a user meets a condition of the filter grammar. */
export function meets(user: ModelUser, parameter: string, wanted: string): boolean {
  const [field, operator] = partsOf(parameter);
  const values = valuesOf(user, field);
  const equals = (value: string, other: string): boolean => {
    if (isTimeField(field)) return Date.parse(value) === Date.parse(other);
    if (field === 'name' || field === 'email') return value.toLowerCase() === other.toLowerCase();
    return field === 'last_login_ip' ? isWithin(value, other) : value === other;
  };
  if (field === 'q') {
    const words = wanted.toLowerCase().trim().split(/\s+/);
    return words.every((word) => searchText(user).includes([...word].length < 3 ? ` ${word}` : word));
  }
  if (operator === 'isnull') return (values.length === 0) === (wanted === 'true');
  if (operator === 'eq') return values.some((value) => equals(value, wanted));
  if (operator === 'ne') return !values.some((value) => equals(value, wanted));
  if (operator === 'in') return wanted.split(',').some((one) => values.some((value) => equals(value, one)));
  if (operator === 'like') return values.some((value) => value.toLowerCase().includes(wanted.toLowerCase()));
  const [time, limit] = [Date.parse(values[0] ?? ''), Date.parse(wanted)];
  return { gt: time > limit, gte: time >= limit, lt: time < limit, lte: time <= limit }[operator] === true;
}

function isWithin(address: string, network: string): boolean {
  const [base = '', bits = '32'] = network.split('/');
  const number = (ip: string) => ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(bits));
  return Math.floor(number(address) / size) === Math.floor(number(base) / size);
}

/**
 * Returns whether items are sorted with nulls last. The collation of the database decides about
 * texts.
 */
export function isSorted(items: ModelUser[], sort: string, direction: string): boolean {
  const keys = items.map((item) => item[sort] as string | null);
  const nulls = keys.indexOf(null);
  if (nulls >= 0 && keys.slice(nulls).some((key) => key !== null)) return false;
  if (!sort.endsWith('_at')) return true;
  const times = keys.filter((key) => key !== null).map((key) => Date.parse(key) * (direction === 'asc' ? 1 : -1));
  return times.every((one, index) => index === 0 || one >= (times[index - 1] ?? 0));
}
