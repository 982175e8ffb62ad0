import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { document } from '../support/document';
import { type TestLogin, TestService } from '../support/service';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** A user as the model knows them: the fields of an answer that filters compare. */
interface ModelUser {
  user_id: string;
  user_type: string;
  carrier_id: string | null;
  roles: string[];
  attributes: Record<string, Json>;
  deleted_at: string | null;
  last_seen_at: string | null;
  [field: string]: Json;
}

/** One parameter with its value; which value it gets depends on the users there are. */
interface Condition {
  parameter: string;
  seeds: number[];
}

const suffixes = ['ne', 'in', 'gt', 'gte', 'lt', 'lte', 'isnull', 'like'];
const paging = ['order_by', 'order_dir', 'per_page', 'page', 'cursor', 'count', 'deleted'];
const parameters = (document.paths['/user/list']?.['get']?.parameters ?? []) as unknown as { name: string; schema: { enum?: string[] } }[];
const filters = [...parameters.map(({ name }) => name).filter((name) => !paging.includes(name)), 'attributes.a', 'attributes.b'];
const sorts = parameters.find(({ name }) => name === 'order_by')?.schema.enum ?? [];
const plainFields = filters.filter((name) => !suffixes.some((suffix) => name.endsWith(`_${suffix}`)));

const days = ['2025-12-31T23:59:59.999Z', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '2026-06-01T12:00:00.000Z'];
const text = fc
  .array(fc.constantFrom(' ', 'a', 'b', 'A', 'B', 'ä', 'Ä', 'é', '%', '_', '\\', "'", 'ß', '1'), { maxLength: 8 })
  .map((characters) => characters.join(''));
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 2 });
const time = fc.constantFrom(...days);
const json: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json[]>('gold', 'true', '1', 'null', '', 1, 0, -1, 1.5, true, false, null, ['gold'], { a: 'gold' }),
  fc.maxSafeInteger(),
  text,
);

const modelUser = fc
  .record({
    carrier: orNull(fc.constantFrom('c1', 'c2', 'C1')),
    first_name: text,
    last_name: text,
    phone: orNull(fc.constantFrom('+4312345678', '+4312345679')),
    locale: orNull(fc.constantFrom('de', 'de-AT', 'en')),
    timezone: orNull(fc.constantFrom('Europe/Vienna', 'UTC')),
    roles: fc.subarray(['administrator', 'carrier_user', 'other']),
    status: fc.constantFrom('invited', 'active', 'disabled'),
    last_login_ip: orNull(fc.constantFrom('10.0.0.1', '10.0.0.2', '10.1.0.1', '192.0.2.7')),
    must_change_password: fc.boolean(),
    attributes: fc.dictionary(fc.constantFrom('a', 'b'), json).map((attributes) => ({ ...attributes })),
    created_at: time,
    updated_at: time,
    last_login_at: orNull(time),
    last_seen_at: orNull(fc.oneof(time, fc.constant('now'))),
    password_changed_at: orNull(time),
    deleted_at: fc.option(time, { nil: null, freq: 9 }),
    prefix: fc.constantFrom('ab', 'Ab', 'a.b', 'b_a', 'B-a'),
  })
  .map(({ carrier, prefix, ...fields }) => ({
    ...fields,
    prefix,
    user_type: carrier === null ? 'system' : 'carrier',
    carrier_id: carrier,
  }));

const condition: fc.Arbitrary<Condition> = fc.record({
  parameter: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...filters) }, fc.constantFrom('q', 'attributes.a', 'attributes.b')),
  seeds: fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
});
const question = fc.record({
  conditions: fc.uniqueArray(condition, { maxLength: 3, selector: ({ parameter }) => parameter }),
  sort: fc.constantFrom(...sorts),
  direction: fc.constantFrom('asc', 'desc'),
  per_page: fc.integer({ min: 2, max: 9 }),
  deleted: fc.boolean(),
});

/** The field and operator that a parameter stands for. */
function partsOf(parameter: string): [string, string] {
  if (plainFields.includes(parameter)) return [parameter, 'eq'];
  const suffix = suffixes.find((one) => parameter.endsWith(`_${one}`)) ?? '';
  return [parameter.slice(0, -suffix.length - 1), suffix];
}

/** A field's value as filters see it; what has no text is null. */
function valuesOf(user: ModelUser, field: string): string[] {
  if (field === 'role') return user.roles;
  if (field === 'online') return [String(isOnline(user))];
  const value = field.startsWith('attributes.') ? user.attributes[field.slice(11)] : user[field];
  return value === null || value === undefined || typeof value === 'object' ? [] : [String(value)];
}

function isOnline({ last_seen_at }: ModelUser): boolean {
  return last_seen_at !== null && Date.parse(last_seen_at) > Date.now() - 300_000;
}

function searchText({ name, email, first_name, last_name }: ModelUser): string {
  return ([name, email, first_name, last_name] as string[])
    .map((part) => ` ${part}`)
    .join('')
    .toLowerCase();
}

/** A value for a condition: mostly one that somebody has, sometimes nobody's. */
function valueFor({ parameter, seeds }: Condition, users: ModelUser[]): string {
  const [field, operator] = partsOf(parameter);
  const enumerated = parameters.find(({ name }) => name === field)?.schema.enum;
  const strangers: Record<string, string[]> = {
    user_id: [randomUUID()],
    online: ['true'],
    must_change_password: ['true'],
    last_login_ip: ['10.0.0.0/8', '0.0.0.0/0', '10.0.0.0/31'],
  };
  const pick = <T>(from: T[], seed = 0) => from[seed % from.length] as T;
  const isTime = field.endsWith('_at');
  const held = users
    .flatMap((user) => (field === 'q' ? searchText(user).split(/\s+/) : valuesOf(user, field)))
    .filter((value) => value !== '');
  const candidates = [...held, ...(enumerated ?? strangers[field] ?? (isTime ? days : ['nobody']))];
  const [first = 0, second = 0, third = 0, length = 0, start = 0, kind = 0] = seeds;
  const one = pick(candidates, first);
  if (operator === 'isnull') return String(kind % 2 === 0);
  if (operator === 'in') return [one, pick(candidates, second), pick(candidates, third)].slice(0, 1 + (length % 3)).join();
  const cut = [...one].slice(start % 3, (start % 3) + 1 + (length % 5)).join('');
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

/** The grammar in plain words: does this user have what the condition wants? */
function meets(user: ModelUser, parameter: string, wanted: string): boolean {
  const [field, operator] = partsOf(parameter);
  const values = valuesOf(user, field);
  const equals = (value: string, other: string): boolean => {
    if (field.endsWith('_at')) return Date.parse(value) === Date.parse(other);
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

describe('lists, counts, previews and walks against a plain model', () => {
  let service: TestService;
  let callers: { login: TestLogin; carrier_id: string | null; row: ModelUser }[];

  beforeAll(async () => {
    service = await TestService.start();
    const logins = [service.admin, await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] })];
    // the callers are in the model too: what a request notes of them must not move
    await service.rows(`update sessions set last_seen_at = now() + interval '1 hour'`);
    await service.rows(`update users set last_seen_at = '2026-01-01'`);
    callers = [];
    for (const login of logins) {
      const row = (await service.get(`/user/${login.user_id}`, service.admin)).body;
      callers.push({ login, carrier_id: row.carrier_id, row });
    }
  });
  afterAll(() => service.close());

  /** Replaces all users but the callers. */
  async function fill(drafts: (typeof modelUser extends fc.Arbitrary<infer T> ? T : never)[]): Promise<ModelUser[]> {
    const users = drafts.map(({ prefix, ...draft }, index) => ({
      ...draft,
      user_id: randomUUID(),
      name: `${prefix}${index}`,
      email: `${prefix}${index}@example.com`,
      last_seen_at: draft.last_seen_at === 'now' ? new Date().toISOString() : draft.last_seen_at,
    }));
    await service.rows('delete from users where user_id <> all($1)', [callers.map(({ row }) => row.user_id)]);
    const columns = [...Object.keys(users[0] ?? { user_id: '' }), 'allowed_ips', 'version'].join();
    const rows = users.map((user) => ({ ...user, allowed_ips: [], version: 1 }));
    await service.rows(`insert into users (${columns}) select ${columns} from jsonb_populate_recordset(null::users, $1)`, [
      JSON.stringify(rows),
    ]);
    return [...users, ...callers.map(({ row }) => row)];
  }

  /** Page after page to the end. */
  async function walk(query: string, login: TestLogin): Promise<string[]> {
    const met: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { status, body, text: answer } = await service.get(`/user/list?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`, login);
      if (status !== 200) throw new Error(`${query}: ${answer}`);
      met.push(...body.items.map(({ user_id }: ModelUser) => user_id));
      cursor = body.next_cursor;
    }
    return met;
  }

  it('find a number of any length by its text', async () => {
    const numbers = [0, -1, 1.5, 1e15, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, '0012345678901234567'];
    for (const number of numbers) {
      const { user_id } = await service.createUser({ attributes: { number } });
      const [{ shown } = { shown: '' }] = await service.rows<{ shown: string }>(
        `select attributes ->> 'number' as shown from users where user_id = $1`,
        [user_id],
      );
      const { body } = await service.get(`/user/list?attributes.number=${shown}`, service.admin);
      expect([shown, body.items.map((item: ModelUser) => item.user_id)]).toEqual([shown, [user_id]]);
    }
  });

  it('find the same users', async () => {
    let met = 0;
    const property = fc.asyncProperty(
      fc.array(modelUser, { minLength: 1, maxLength: 25 }),
      fc.array(question, { minLength: 4, maxLength: 4 }),
      async (drafts, questions) => {
        const users = await fill(drafts);
        for (const { conditions, sort, direction, per_page, deleted } of questions) {
          const asked = conditions.map((one) => [one.parameter, valueFor(one, users)] as const);
          const query = asked.map(([parameter, value]) => `${parameter}=${encodeURIComponent(value)}`);
          for (const { login, carrier_id } of callers) {
            const visible = users.filter((user) => carrier_id === null || user.carrier_id === carrier_id);
            const found = visible.filter((user) => asked.every(([parameter, value]) => meets(user, parameter, value)));
            const wanted = found
              .filter(({ deleted_at }) => (deleted_at !== null) === deleted)
              .map(({ user_id }) => user_id)
              .sort();
            met += wanted.length;
            const parts = [...query, ...(deleted ? ['deleted=true'] : [])];
            const whole = await service.get(
              `/user/list?${[...parts, 'count=exact', 'per_page=500', `order_by=${sort}`, `order_dir=${direction}`].join('&')}`,
              login,
            );
            const order: string[] = whole.body.items.map(({ user_id }: ModelUser) => user_id);
            expect([parts, [...order].sort()]).toEqual([parts, wanted]);
            expect([parts, whole.body.total]).toEqual([parts, { value: wanted.length, relation: 'eq' }]);
            expect(isSorted(whole.body.items, sort, direction)).toBe(true);
            const walked = await walk(
              [...parts, 'count=none', `per_page=${per_page}`, `order_by=${sort}`, `order_dir=${direction}`].join('&'),
              login,
            );
            expect([parts, sort, direction, walked]).toEqual([parts, sort, direction, order]);
            if (deleted) continue;
            const preview = await service.delete(
              `/user/all?${[...(query.length === 0 ? ['everyone=true'] : query), 'dry_run=true'].join('&')}`,
              login,
            );
            expect([parts, preview.body.matched]).toEqual([parts, wanted.length]);
          }
        }
      },
    );
    await fc.assert(property, { numRuns: 25, endOnFailure: true });
    // the control: the questions do find somebody
    expect(met).toBeGreaterThan(100);
  });
});

/** Nulls last, times in order; texts are left to the database's collation. */
function isSorted(items: ModelUser[], sort: string, direction: string): boolean {
  const keys = items.map((item) => item[sort] as string | null);
  const nulls = keys.indexOf(null);
  if (nulls >= 0 && keys.slice(nulls).some((key) => key !== null)) return false;
  if (!sort.endsWith('_at')) return true;
  const times = keys.filter((key) => key !== null).map((key) => Date.parse(key) * (direction === 'asc' ? 1 : -1));
  return times.every((one, index) => index === 0 || one >= (times[index - 1] ?? 0));
}
