import { RefusalBudget, withinBudget } from './refusal-budget';

const rest = `$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const bcrypt = (cost: number) => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`;
const pbkdf2 = (digest: string, iterations: number) => `$pbkdf2-${digest}$i=${iterations}${rest}`;
const scrypt = (ln: number) => `$scrypt$ln=${ln},r=8,p=1${rest}`;

describe('the budget of rejected logins', () => {
  it('accepts the costliest hash of one algorithm beside cheap ones of others', () => {
    const budget = new RefusalBudget([]);
    expect(
      [bcrypt(14), pbkdf2('sha256', 100_000), bcrypt(12), '$argon2id$v=19$m=4096,t=3,p=1' + rest].map((hash) =>
        budget.admits(hash),
      ),
    ).toEqual(Array(4).fill(true));
  });

  it('rejects a file of costly hashes of many kinds after the first (L21)', () => {
    const budget = new RefusalBudget([]);
    const hashes = [
      bcrypt(14),
      scrypt(17),
      pbkdf2('sha512', 1_500_000),
      '$argon2id$v=19$m=131072,t=8,p=1' + rest,
      bcrypt(14),
    ];
    expect(hashes.map((hash) => budget.admits(hash))).toEqual([true, false, false, false, true]);
  });

  it('counts stored hashes', () => {
    const stored = [{ computation: 'bcrypt', cost: 2 ** 13 }];
    expect(new RefusalBudget(stored).admits(scrypt(17))).toBe(true);
    expect(new RefusalBudget([...stored, { computation: 'pbkdf2-sha256', cost: 1_500_000 }]).admits(scrypt(17))).toBe(
      false,
    );
  });

  it('ignores current hashes and MD5, which add no cost', () => {
    const full = new RefusalBudget([{ computation: 'bcrypt', cost: 2 ** 15 }]);
    expect(full.admits('$argon2id$v=19$m=19456,t=2,p=1' + rest)).toBe(true);
    expect(full.admits('5f4dcc3b5aa765d61d8327deb882cf99')).toBe(true);
  });

  it('pads rejected logins to no more than the budget, regardless of the stored hashes', () => {
    const costs = [14, 15, 16, 17].map((ln) => ({ computation: `scrypt$ln=${ln},r=8,p=1`, cost: 2 ** ln * 8 }));
    const many = [...costs, { computation: 'bcrypt', cost: 2 ** 13 }, { computation: 'pbkdf2-sha1', cost: 2_000_000 }];
    expect(withinBudget(costs)).toHaveLength(4);
    expect(withinBudget(many).map(({ computation }) => computation)).toEqual([
      'pbkdf2-sha1',
      'scrypt$ln=17,r=8,p=1',
      'scrypt$ln=15,r=8,p=1',
    ]);
  });
});
