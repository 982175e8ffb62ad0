import { assert, asyncProperty, type Arbitrary, constant, dictionary, jsonValue, oneof } from 'fast-check';
import { TestService } from '../support/service';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** The algorithm of RFC 7396 §2. */
function mergePatch(target: Json | undefined, patch: Json): Json {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged = typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

describe('merge patches of attributes (RFC 7396)', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const changed = async (before: Json, patch: Json): Promise<Json> => {
    const { admin } = service;
    await service.rows('update users set attributes = $2 where user_id = $1', [admin.user_id, JSON.stringify(before)]);
    const answer = await service.patch(`/user/${admin.user_id}`, { token: admin.token, body: { attributes: patch } });
    expect(answer.status).toBe(200);
    return answer.body.attributes;
  };

  it.each<[Json, Json]>([
    [{}, {}],
    [{ a: 'b' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }],
    [{ a: 'b' }, { a: null }],
    [
      { a: 'b', b: 'c' },
      { a: null, d: null },
    ],
    [{ a: ['b'] }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b', null, { c: null }] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }],
    [{ e: null }, { a: 1 }],
    [{ a: 'foo' }, { b: { bb: { ccc: null } } }],
    [{ a: { b: 1 } }, { a: null, b: 2 }],
    [
      { a: { b: 1 }, c: [], d: 1, e: null, f: { g: {} } },
      { a: {}, c: {}, d: {}, e: {}, f: { g: {}, h: {} }, i: {} },
    ],
    [{}, { toString: 'a', valueOf: { hasOwnProperty: 1 } }],
  ])('merges into %j the patch %j', async (before, patch) => {
    expect(await changed(before, patch)).toEqual(mergePatch(before, patch));
  });

  it.each<[string, Json, Json, Json, Json[]]>([
    [
      'keys',
      Object.fromEntries(Array.from({ length: 103 }, (_, index) => [`k${index}`, { n: 1 }])),
      { k0: { n: null } },
      { k1: null },
      [{ more: 1 }, { k2: 2, more: 1 }, { k2: { n: 2 } }],
    ],
    [
      'bytes',
      { a: 'a'.repeat(9_000), b: 'b'.repeat(9_000), c: 'c'.repeat(9_000) },
      { c: 'c'.repeat(8_000) },
      { a: null, d: 1 },
      [{ more: 1 }, { b: 'B'.repeat(9_000) }],
    ],
  ])(
    'lets attributes with too many %s shrink in steps, but not grow (B31)',
    async (_what, before, first, second, more) => {
      const { admin } = service;
      const merge = async (attributes: Json) => {
        const answer = await service.patch(`/user/${admin.user_id}`, { token: admin.token, body: { attributes } });
        return answer.body.errors?.[0].pointer ?? answer.body.attributes;
      };
      await service.rows('update users set attributes = $2 where user_id = $1', [
        admin.user_id,
        JSON.stringify(before),
      ]);
      const smaller = mergePatch(before, first);
      expect(await merge(first)).toEqual(smaller);
      for (const patch of more) expect(await merge(patch)).toBe('/attributes');
      expect(await merge(second)).toEqual(mergePatch(smaller, second));
    },
  );

  it('merges any patch into any values', async () => {
    const keys = oneof(constant('a'), constant('b'), constant('c'));
    const object: Arbitrary<Json> = dictionary(
      keys,
      jsonValue({ maxDepth: 2, noUnicodeString: true }) as Arbitrary<Json>,
    );
    // Compared as JSON, which has no -0. Tests of bodies cover numbers that a double cannot hold
    // exactly.
    const asSent = (value: Json): Json => JSON.parse(JSON.stringify(value)) as Json;
    const isExact = (value: Json): boolean => {
      if (typeof value === 'number') return Number.isInteger(value) ? Number.isSafeInteger(value) : true;
      return typeof value !== 'object' || value === null || Object.values(value).every(isExact);
    };
    const isPlain = (value: Json): boolean =>
      isExact(value) && !/\\u0000|__proto__|-0\b|e[+-]?\d/.test(JSON.stringify(value));
    const values = object.map(asSent).filter(isPlain);
    await assert(
      asyncProperty(values, values, async (before, patch) => {
        expect(await changed(before, patch)).toEqual(mergePatch(before, patch));
      }),
      { numRuns: 60 },
    );
  });
});
