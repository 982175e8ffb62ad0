import fc from 'fast-check';

/** A user as the model stores them. */
export interface ModelUser {
  user_id: string;
  user_type: string;
  carrier_id: string | null;
  roles: string[];
  status: string;
  locale: string | null;
  attributes: Record<string, unknown>;
  must_change_password: boolean;
  second_factors: string[];
}

/** A filter as a query and as a predicate. */
type Filter = [string, (user: ModelUser) => boolean];

const carriers = ['c1', 'c2'];
const rolesOf = { system: ['both', 'operator'], carrier: ['both', 'carrier_auditor', 'carrier_user'] };
const ips = fc.subarray(['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32']);
const attributes = fc.dictionary(
  fc.constantFrom('a', 'b', 'c'),
  fc.constantFrom<unknown>('x', 'y', 1, true, null, ['x'], { a: 'x', d: null }),
  {
    noNullPrototype: true,
  },
);
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 2 });
const locale = fc.constantFrom('de', 'de-AT', 'en');
const timezone = fc.constantFrom('Europe/Vienna', 'UTC');
const status = fc.constantFrom('invited', 'active', 'disabled');
const required = fc.constantFrom('2020-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z');

/** A user to insert. */
export const draft = fc.constantFrom('system' as const, 'carrier' as const).chain((user_type) =>
  fc.record({
    user_type: fc.constant(user_type),
    carrier_id: user_type === 'system' ? fc.constant(null) : fc.constantFrom(...carriers),
    carrier_scope: user_type === 'system' ? orNull(fc.subarray(carriers)) : fc.constant(null),
    roles: fc.subarray(rolesOf[user_type]),
    status,
    locale: orNull(locale),
    timezone: orNull(timezone),
    allowed_ips: ips,
    attributes,
    must_change_password: fc.boolean(),
    second_factors: fc.subarray(['totp', 'passkey']),
    second_factor_required_from: orNull(required),
  }),
);
/** A user before it is inserted. */
export type Draft = typeof draft extends fc.Arbitrary<infer T> ? T : never;
/** Users to insert. */
export const drafts = fc.array(draft, { minLength: 1, maxLength: 15 });

/** Filters of a bulk change. */
export const filters: fc.Arbitrary<Filter> = fc.oneof(
  fc.constant<Filter>(['everyone=true', () => true]),
  fc
    .uniqueArray(
      fc.oneof(
        status.map((value): Filter => [`status=${value}`, (user) => user.status === value]),
        status.map((value): Filter => [`status_ne=${value}`, (user) => user.status !== value]),
        locale.map((value): Filter => [`locale=${value}`, (user) => user.locale === value]),
        fc.boolean().map((value): Filter => [`locale_isnull=${value}`, (user) => (user.locale === null) === value]),
        fc
          .constantFrom(...carriers)
          .map((value): Filter => [`carrier_id_ne=${value}`, (user) => user.carrier_id !== value]),
        fc
          .constantFrom(...rolesOf.carrier)
          .map((value): Filter => [`role=${value}`, (user) => user.roles.includes(value)]),
        fc.constant<Filter>([
          'role_in=operator,carrier_user',
          ({ roles }) => roles.some((role) => ['operator', 'carrier_user'].includes(role)),
        ]),
        fc.constant<Filter>(['attributes.a=x', (user) => user.attributes['a'] === 'x']),
        fc
          .boolean()
          .map((value): Filter => [`must_change_password=${value}`, (user) => user.must_change_password === value]),
        fc
          .boolean()
          .map((value): Filter => [`has_second_factor=${value}`, (user) => user.second_factors.length > 0 === value]),
      ),
      { minLength: 1, maxLength: 2, selector: ([query]) => query.split('=')[0] },
    )
    .map((parts): Filter => [
      parts.map(([query]) => query).join('&'),
      (user) => parts.every(([, holds]) => holds(user)),
    ]),
);

/** A bulk change. */
export const change = fc
  .record(
    {
      ...{
        status,
        locale: orNull(locale),
        timezone: orNull(timezone),
        allowed_ips: ips,
        attributes,
        must_change_password: fc.boolean(),
        second_factor_required_from: orNull(required),
      },
      roles: fc.subarray(rolesOf.carrier),
      roles_add: fc.subarray(['both', 'operator', 'carrier_user']),
      roles_remove: fc.subarray(['both', 'carrier_user']),
      carrier_scope: orNull(fc.subarray(carriers)),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  .map(({ roles, ...others }) =>
    'roles_add' in others || 'roles_remove' in others || roles === undefined ? others : { ...others, roles },
  )
  .filter((one) => Object.keys(one).length > 0)
  .filter(({ roles_add = [], roles_remove = [] }) => !roles_remove.some((role) => roles_add.includes(role)));
