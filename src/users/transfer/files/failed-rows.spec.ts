import { createHash } from 'node:crypto';
import { addFailed, cellsOf, emptySummary, toFailedRow } from './failed-rows';

describe('failed rows', () => {
  const md5 = createHash('md5').update('canary').digest('hex');
  const bcrypt = `$2b$12$${'a'.repeat(21)}O${'a'.repeat(30)}C`;

  it.each([md5, md5.toUpperCase(), ` ${md5} `, bcrypt, '$argon2id$v=19$m=19456', [md5], ['a', bcrypt]])(
    'keep no password hash in a wrong column: %j (P10)',
    (hash) => {
      const row = { line: 2, size: 0, values: { name: hash, phone: hash, roles: hash, email: 'jane@example.com' } };
      const { cells, identities } = toFailedRow(row, []);
      expect(cells).toEqual({ name: '(removed)', phone: '(removed)', roles: '(removed)', email: 'jane@example.com' });
      expect(identities).toEqual(['jane@example.com']);
    },
  );

  it('are found by a purge although their values are malformed', () => {
    const values = {
      user_id: ' 01890000-AAAA-7000-8000-000000000000 ',
      name: ' Jane Doe',
      email: 'Jane Doe <Jane.Doe@Example.com>; other@example.com.',
      phone: '0043 (1) 234-5678',
      last_name: 'doe@example.org',
      roles: ['carrier_user'],
    };
    expect(toFailedRow({ line: 2, size: 0, values }, []).identities).toEqual([
      '01890000-aaaa-7000-8000-000000000000',
      'janedoe',
      '+4312345678',
      'jane.doe@example.com',
      'other@example.com',
      'doe@example.org',
    ]);
  });

  it('have few and short identities, found in linear time', () => {
    const before = process.cpuUsage();
    const long = 'x'.repeat(131_072);
    for (const values of [{ name: long, email: long }, { email: 'a@a '.repeat(32_768) }, { email: `${long}@` }]) {
      const { identities } = toFailedRow({ line: 2, size: 0, values }, []);
      expect(identities.length).toBeLessThanOrEqual(20);
      expect(Math.max(0, ...identities.map((text) => text.length))).toBeLessThanOrEqual(320);
    }
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  });

  it('keep texts that are no hash', () => {
    const values = { name: 'jane', last_name: '$5 Jane', job_title: md5.slice(1), user_id: 'x', roles: ['a', 'b'] };
    expect(cellsOf(values)).toEqual({ ...values, roles: 'a;b' });
  });

  const many = (count: number, name: string) => Array.from({ length: count }, (_, at) => `${name}${at}@b`);
  it.each<[Record<string, unknown> | undefined, string[]]>([
    [undefined, []],
    [{}, []],
    [{ phone: '+43 100 200' }, ['+43100200']],
    [{ name: 'x'.repeat(320) }, ['x'.repeat(320)]],
    [{ name: 'x'.repeat(321) }, []],
    [{ email: '@a b@ a@ ' }, []],
    [{ email: 'a@b..' }, ['a@b']],
    [{ email: `${'x'.repeat(70)}@b` }, [`${'x'.repeat(64)}@b`]],
    [{ email: `a@${'b'.repeat(300)}` }, [`a@${'b'.repeat(255)}`]],
    [{ email: many(20, 'a').join() }, many(20, 'a')],
    [{ email: many(15, 'a').join(), last_name: many(15, 'b').join() }, [...many(15, 'a'), ...many(5, 'b')]],
  ])('are found by the identities of %j', (values, identities) => {
    expect(toFailedRow({ line: 2, size: 0, ...(values && { values }) }, []).identities).toEqual(identities);
  });

  it('keep their cells for correction, except passwords', () => {
    const values = { must_change_password: true, password_hash: 'x', password: 'x', name: null };
    expect(cellsOf(values)).toEqual({ must_change_password: 'true', password_hash: '(removed)' });
    expect(cellsOf(undefined)).toBeNull();
    expect(toFailedRow({ line: 2, size: 0, values, cells: { name: 'a' } }, []).cells).toEqual({ name: 'a' });
  });

  it('are counted by reason, and the first 100 are listed', () => {
    const row = (code: string, line: number) => toFailedRow({ line, size: 0 }, [{ pointer: '', code, detail: '' }]);
    const rows = Array.from({ length: 101 }, (_, at) => row(at < 2 ? 'a' : 'b', at));
    const { skipped, ...counts } = addFailed(addFailed(emptySummary(), rows.slice(0, 1)), rows.slice(1));
    expect(counts).toEqual({ skipped_count: 101, skipped_reasons: { a: 2, b: 99 } });
    expect(skipped.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, at) => at));
  });
});
