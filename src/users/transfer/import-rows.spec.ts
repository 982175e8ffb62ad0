import 'reflect-metadata';
import { type Actor, systemActor } from '../../access/actor';
import type { HashCost } from '../../auth/passwords/stored-hash';
import { faultsOf, isMd5, readRow } from './import-rows';

const now = new Date('2026-11-20T13:00:00.000Z');
const md5 = 'd'.repeat(32);
const bcrypt = `$2b$10$${'a'.repeat(21)}O${'a'.repeat(30)}C`;
const scrypt = (ln: number) => `$scrypt$ln=${ln},r=8,p=1$c29tZXNhbHQ$${'A'.repeat(43)}`;
const carrierRow = { user_type: 'carrier', name: 'ada', email: 'ada@example.com', carrier_id: 'c1' };
const systemRow = { user_type: 'system', name: 'ada', email: 'ada@example.com' };
const grants = { forbidden: ['root'], open_to_system: ['admin', 'root'], open_to_carrier: ['user', 'root'] };
const limited: Actor = { ...systemActor, carrier_scope: ['c1'] };
const carrier: Actor = { ...systemActor, user_type: 'carrier', carrier_id: 'c1' };

const check = (values: object) => faultsOf({ line: 2, size: 0, values: { ...values } }, now);
const read = (values: object, actor: Actor = systemActor, costs: HashCost[] = []) =>
  readRow({ line: 2, size: 0, values: { ...values } }, { actor, grants, costs });
const briefly = (faults: unknown) =>
  Array.isArray(faults) ? faults.map(({ pointer, code }) => `${pointer} ${code}`) : faults;

describe('the faults of a row', () => {
  it.each<[object, string[]]>([
    [{}, []],
    [{ created_at: '2026-11-20T13:01:00.000Z', last_login_at: null }, []],
    [{ created_at: '2026-11-20T13:01:00.001Z' }, ['/created_at field.not_allowed']],
    [{ last_seen_at: '2027-01-01T00:00:00+10:00' }, ['/last_seen_at field.not_allowed']],
    [{ email_verified_at: 1, name: 'a b' }, ['/name field.malformed', '/email_verified_at field.wrong_type']],
    [{ carrier_id: null }, ['/carrier_id field.required']],
    [{ password_hash: md5, status: 'active' }, []],
    [{ password_hash: md5, status: 'invited' }, ['/status field.not_allowed']],
    [{ password_hash: 'x' }, ['/password_hash field.not_allowed']],
    [{ password_hash: 7 }, ['/password_hash field.wrong_type']],
    [{ password_hash: bcrypt.replace('$10$', '$31$') }, ['/password_hash password_hash.too_costly']],
    [{ nmae: 'x' }, ['/nmae field.unknown']],
    [{ ['x'.repeat(255)]: 1 }, [`/${'x'.repeat(255)} field.unknown`]],
    [{ ['x'.repeat(256)]: 1 }, [' field.unknown']],
  ])('with %j are %j', (changes, faults) => {
    expect(briefly(check({ ...carrierRow, ...changes }))).toEqual(faults);
  });

  it('name the reason why a hash is not accepted', () => {
    const fault = { pointer: '/password_hash', code: 'field.not_allowed', params: { reason: 'unknown form' } };
    expect(check({ ...carrierRow, password_hash: 'x' })).toEqual([expect.objectContaining(fault)]);
  });

  it('include faults of reading the file, with one fault per field and at most 20 in total', () => {
    const faults = [{ pointer: '/name', code: 'field.malformed', detail: 'must be JSON' }];
    expect(faultsOf({ line: 2, size: 0, faults }, now)).toEqual(faults);
    expect(faultsOf({ line: 2, size: 0, faults, values: { ...carrierRow, name: '' } }, now)).toEqual(faults);
    const unknown = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`x${at}`, 1]));
    expect(check(unknown)).toHaveLength(20);
  });
});

describe('a row', () => {
  it.each<[string, Actor, object, string[]]>([
    ['of another carrier', limited, { ...carrierRow, carrier_id: 'c2' }, ['/carrier_id access.denied']],
    ['of a System User', carrier, systemRow, ['/carrier_id access.denied']],
    ['with all carriers', limited, { ...systemRow, carrier_scope: null }, ['/carrier_id access.denied']],
    ['with another role', systemActor, { ...carrierRow, roles: ['admin'] }, ['/roles field.not_allowed']],
    ['with another role', systemActor, { ...systemRow, roles: ['user'] }, ['/roles field.not_allowed']],
    ['with one wrong role', systemActor, { ...systemRow, roles: ['admin', 'x'] }, ['/roles field.not_allowed']],
    [
      'with a higher role',
      systemActor,
      { ...carrierRow, roles: ['user', 'root'] },
      ['/roles access.grant_exceeds_own'],
    ],
    ['with a slow hash', limited, { ...carrierRow, password_hash: bcrypt }, ['/password_hash access.denied']],
    ['with a slow hash', carrier, { ...carrierRow, password_hash: bcrypt }, ['/password_hash access.denied']],
    [
      ...['with two faults', limited, { ...carrierRow, carrier_id: 'c2', roles: ['x'] }],
      ['/carrier_id access.denied', '/roles field.not_allowed'],
    ] as never,
  ])('%s is rejected', (_title, actor, values, faults) => {
    expect(briefly(read(values, actor))).toEqual(faults);
  });

  it('is rejected with the faults that were found before, or if it could not be read', () => {
    const faults = [{ pointer: '/name', code: 'field.malformed', detail: '' }];
    const context = { actor: systemActor, grants, costs: [] };
    expect(readRow({ line: 2, size: 0, faults, values: carrierRow }, context)).toEqual(faults);
    expect(briefly(readRow({ line: 2, size: 0 }, context))).toEqual([' field.malformed']);
    expect(readRow({ line: 2, size: 0, faults: [], values: carrierRow }, context)).toMatchObject({ name: 'ada' });
  });

  it('is rejected if its hash and the hashes before it would cost too much (L21)', () => {
    const costs: HashCost[] = [];
    const outcomes = [16, 15, 14, 17].map((ln) =>
      briefly(read({ ...carrierRow, password_hash: scrypt(ln) }, systemActor, costs)),
    );
    expect(outcomes.filter(Array.isArray)).not.toEqual([]);
    expect(outcomes.filter(Array.isArray).flat()[0]).toBe('/password_hash password_hash.too_costly');
  });

  const unset = { email_verified_at: null, last_login_at: null, last_seen_at: null, password_changed_at: null };
  it.each<[object, object]>([
    [{}, { status: 'invited', password_hash: null, roles: [], must_change_password: false, ...unset }],
    [
      { status: 'disabled', must_change_password: true },
      { status: 'disabled', must_change_password: false },
    ],
    [{ password_hash: md5 }, { status: 'active', password_hash: md5, must_change_password: false }],
    [
      { password_hash: md5, must_change_password: true },
      { status: 'active', must_change_password: true },
    ],
    [{ roles: ['user'] }, { roles: ['user'] }],
    [{ user_id: '0191F0A0-0000-7000-8000-00000000000A' }, { user_id: '0191f0a0-0000-7000-8000-00000000000a' }],
    [{ created_at: '2026-01-01T00:00:00+16:00' }, { created_at: '2025-12-31T08:00:00.000Z' }],
    [{ last_login_ip: '10.0.0.1' }, { last_login_ip: '10.0.0.1' }],
  ])('with %j becomes a user with %j', (changes, user) => {
    const common = { line: 2, carrier_id: 'c1', first_name: '', user_id: expect.stringMatching(/^[0-9a-f-]{36}$/) };
    expect(read({ ...carrierRow, ...changes })).toMatchObject({ last_login_ip: null, ...common, ...user });
  });

  it('has sorted roles, and may contain a hash from a limited actor if the hash costs nothing', () => {
    expect(read({ ...systemRow, roles: ['root', 'admin'] }, { ...systemActor })).toHaveLength(1);
    const open = { ...grants, forbidden: [] };
    const context = { actor: systemActor, grants: open, costs: [] };
    const values = { ...systemRow, roles: ['root', 'admin'] };
    expect(readRow({ line: 2, size: 0, values }, context)).toMatchObject({ roles: ['admin', 'root'] });
    expect(read({ ...carrierRow, password_hash: md5 }, limited)).toMatchObject({ password_hash: md5 });
    expect(read({ ...carrierRow, password_hash: bcrypt })).toMatchObject({ password_hash: bcrypt });
  });
});

it.each([
  [md5, true],
  [md5.toUpperCase(), true],
  [bcrypt, false],
  [`${md5}d`, false],
  ['x'.repeat(32), false],
  [null, false],
])('recognizes MD5 hashes: %j, %p', (hash, is) => {
  expect(isMd5(hash)).toBe(is);
});
