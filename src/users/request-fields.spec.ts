import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { IntersectionType, OmitType, PickType } from '@nestjs/swagger';
import fc from 'fast-check';
import type { AppError, FieldError } from '../http/errors/app-error';
import { checkFields, fieldsOf, type RequestClass } from '../http/fields/field-rules';
import { BodyPipe } from '../http/fields/validation.pipe';
import { CreateUserRequest, PersonalFields, SharedChanges } from './users.dto';

type FieldsClass = RequestClass & (new () => object);

/** Values of which each field accepts some and rejects others. */
const values: unknown[] = [
  ...[null, undefined, true, false, 0, 1.5, '', ' ', 'x', 'ada', 'a.b-c_D9', 'a\u202eb', '\u0000', '+0', 'xx-@@'],
  ...['x'.repeat(64), 'x'.repeat(2_000), 'x'.repeat(70_000), '😀'.repeat(101)],
  ...['Zoë 👩‍🚀', "O'Neill", 'Mars/Base'],
  ...['ada@example.com', '  Ada@EXAMPLE.com ', 'ada@bücher.example', 'ada@', 'a@b'],
  ...['system', 'carrier', 'active', 'disabled', 'keep', 'list', '+4312345678', 'de-AT', 'Europe/Vienna'],
  ...['2026-01-31T12:00:00.000Z', '2026-02-30T12:00:00.000Z', '10.0.0.1', '300.1.1.1'],
  ...['0191f0a0-0000-7000-8000-000000000000', 'correct horse battery staple', '012345', 'cookie', 'https://a.example'],
  ...[[], {}, [1], ['c1', 'c1'], ['c1', 'c2'], ['not a role'], ['carrier_user'], ['carrier'], ['user:read'], ['*']],
  ...[['10.0.0.0/8', '::1'], ['300.1.1.1'], Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`)],
  ...[{ a: { b: { c: { d: 1 } } } }, { a: { b: { c: { d: { e: {} } } } } }, { a: 'x'.repeat(17_000) }, { toString: 1 }],
  Array.from({ length: 1_001 }, (_, i) => `c${i}`),
];

class Inherited extends PersonalFields {}
class Picked extends PickType(CreateUserRequest, ['email', 'timezone']) {}
class Omitted extends OmitType(CreateUserRequest, ['password', 'email']) {}
class Intersected extends IntersectionType(PickType(PersonalFields, ['phone']), SharedChanges) {}
class Overlapping extends IntersectionType(CreateUserRequest, SharedChanges) {}

/** Every class with request fields in the `*.dto.ts` files. */
function declaredClasses(): FieldsClass[] {
  const folder = join(__dirname, '..');
  return (
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.dto.ts'))
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- finds unlisted classes
      .flatMap((file) => Object.values(require(join(folder, file)) as Record<string, unknown>))
      .filter((value): value is FieldsClass => typeof value === 'function' && /^class\b/.test(String(value)))
      .filter((type) => fieldsOf(type).size > 0)
  );
}

const pipe = new BodyPipe();
const sorted = (errors: FieldError[]) => [...errors].sort((a, b) => String(a.pointer).localeCompare(String(b.pointer)));

/** Reads a body with the validation pipe: the errors, or the values. */
async function byPipe(metatype: FieldsClass, body: object): Promise<{ errors: FieldError[]; values?: object }> {
  return pipe.transform({ ...body }, { type: 'body', metatype }).then(
    (read: object) => ({ errors: [], values: { ...read } }),
    (error: AppError) => ({ errors: sorted(error.extras.errors ?? []) }),
  );
}

/** Reads a body with the reader of imports: the errors, or the values. */
function byReader(type: FieldsClass, body: object): { errors: FieldError[]; values?: object } {
  const read: Record<string, unknown> = { ...body };
  const errors = sorted(checkFields(fieldsOf(type), read));
  return errors.length > 0 ? { errors } : { errors, values: read };
}

describe('the two readers of request fields', () => {
  const derived = [Inherited, Picked, Omitted, Intersected, Overlapping];
  const classes = [...declaredClasses(), ...derived].map((type) => [type.name, type] as const);

  it('covers the request classes of all features', () => {
    expect(classes.map(([name]) => name)).toEqual(
      expect.arrayContaining(['CreateUserRequest', 'ChangeFoundUsersRequest', 'CreateRoleRequest', 'LoginRequest']),
    );
    expect(classes.length).toBeGreaterThan(20);
  });

  it.each(classes)('returns the same errors from both for each field of %s', async (_name, type) => {
    for (const name of fieldsOf(type).keys()) {
      const read = { accepted: 0, rejected: 0 };
      for (const value of values) {
        const body = value === undefined ? {} : { [name]: value };
        const ofField = ({ errors }: { errors: FieldError[] }) =>
          errors.filter(({ pointer }) => pointer === `/${name}`);
        const expected = ofField(await byPipe(type, body));
        expect([name, value, ofField(byReader(type, body))]).toEqual([name, value, expected]);
        read[expected.length === 0 ? 'accepted' : 'rejected']++;
      }
      expect([name, read.accepted > 0, read.rejected > 0]).toEqual([name, true, true]);
    }
  });

  it.each(classes)('returns the same errors and canonical values from both for bodies of %s', async (_name, type) => {
    const fields = [...fieldsOf(type).keys()];
    const passing = (name: string) =>
      values.filter(
        (value) =>
          value !== undefined &&
          !String(JSON.stringify(byReader(type, { [name]: value }).errors)).includes(`"/${name}"`),
      );
    const value = (name: string) =>
      fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom(...passing(name)) },
        { weight: 1, arbitrary: fc.constantFrom(...values.filter((one) => one !== undefined)) },
      );
    const body = fc.record(Object.fromEntries(fields.map((name) => [name, value(name)])), { requiredKeys: [] });
    const complete = fc.record(Object.fromEntries(fields.map((name) => [name, fc.constantFrom(...passing(name))])));
    const unknown = fc.constantFrom({}, {}, {}, { 'un/known~': 1 }, { nmae: 'ada' });
    const bodies = fc.oneof(
      complete,
      body,
      fc.tuple(body, unknown).map(([fields, more]) => ({ ...fields, ...more })),
    );
    let [accepted, rejected] = [0, 0];
    await fc.assert(
      fc.asyncProperty(bodies, async (sent) => {
        const expected = await byPipe(type, sent);
        expect(byReader(type, sent)).toEqual(expected);
        if (expected.errors.length === 0) accepted++;
        else rejected++;
      }),
      { numRuns: 150 },
    );
    expect([accepted > 5, rejected > 5]).toEqual([true, true]);
  });
});
