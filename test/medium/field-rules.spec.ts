import 'reflect-metadata';
import fc from 'fast-check';
import type { AppError, FieldError } from '../../src/common/errors/app-error';
import { checkFields, fieldsOf } from '../../src/common/http/field-rules';
import { createValidationPipe } from '../../src/common/http/validation.pipe';
import { CreateUserRequest } from '../../src/users/users.dto';

const fields = fieldsOf(CreateUserRequest);
const right: Record<string, unknown[]> = {
  user_type: ['system', 'carrier'],
  name: ['ada', 'a.b-c_D9', 'x'.repeat(64)],
  email: ['ada@example.com', '  Ada@EXAMPLE.com ', 'ada@bücher.example'],
  first_name: [null, '', 'Zoë 👩‍🚀'],
  last_name: [null, "O'Neill"],
  phone: [null, '+4312345678'],
  locale: [null, 'de-AT'],
  timezone: [null, 'Europe/Vienna'],
  carrier_id: [null, 'c1'],
  carrier_scope: [null, [], ['c1', 'c2']],
  roles: [[], ['carrier_user']],
  allowed_ips: [[], ['10.0.0.0/8', '::1']],
  attributes: [{}, { a: { b: { c: { d: 1 } } } }],
  password: ['correct horse battery staple'],
  must_change_password: [true, false],
};
const wrong: unknown[] = [
  ...[
    null,
    undefined,
    true,
    0,
    1.5,
    '',
    ' ',
    'x',
    'a\u202eb',
    '\u0000',
    'x'.repeat(2_000),
    '😀'.repeat(101),
    'ada@',
    'a@b',
    '+0',
    'Mars/Base',
  ],
  ...[
    [],
    {},
    [1],
    ['c1', 'c1'],
    ['not a role'],
    Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`),
    { a: { b: { c: { d: { e: {} } } } } },
  ],
  ...[{ a: 'x'.repeat(17_000) }, ['300.1.1.1'], 'xx-@@'],
];

describe('the two readers of request fields', () => {
  const pipe = createValidationPipe();
  const byPipe = async (values: object): Promise<FieldError[] | { email: unknown }> =>
    pipe
      .transform({ ...values }, { type: 'body', metatype: CreateUserRequest })
      .catch((error: AppError) => sorted(error.extras.errors ?? [])) as Promise<FieldError[] | { email: unknown }>;
  const sorted = (errors: FieldError[]) =>
    [...errors].sort((a, b) => String(a.pointer).localeCompare(String(b.pointer)));

  it('covers the same fields in both', () => {
    expect([...fields.keys()].sort()).toEqual(Object.keys(right).sort());
  });

  it('accepts and normalises the same values in both', async () => {
    const value = (name: string) =>
      fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...(right[name] ?? [])) },
        { weight: 1, arbitrary: fc.constantFrom(...wrong) },
      );
    const body = fc.record(Object.fromEntries([...fields.keys()].map((name) => [name, value(name)])), {
      requiredKeys: [],
    });
    const withUnknown = fc.tuple(body, fc.constantFrom({}, {}, { 'un/known~': 1 }, { nmae: 'ada' }));
    let refused = 0;
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(withUnknown, async ([known, unknown]) => {
        const values: Record<string, unknown> = { ...known, ...unknown };
        const expected = await byPipe(values);
        const errors = checkFields(fields, values);
        if (Array.isArray(expected)) expect(sorted(errors)).toEqual(expected);
        else expect([errors, values['email']]).toEqual([[], expected.email]);
        if (Array.isArray(expected)) refused++;
        else taken++;
      }),
      { numRuns: 800 },
    );
    expect([refused > 100, taken > 5]).toEqual([true, true]);
  });
});
