import { createHash } from 'node:crypto';
import { cellsOf, toFailedRow } from './failed-rows';

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
});
