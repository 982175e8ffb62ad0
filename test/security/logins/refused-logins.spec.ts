import { createHash, pbkdf2Sync, scryptSync } from 'node:crypto';
import { hash as hashArgon2 } from '@node-rs/argon2';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import type * as Metered from '../../support/hash-work';
import { type HashWork, meter } from '../../support/hash-work';
import { password, TestService } from '../../support/service';

// The real functions, counted. The factories run before the imports above.
jest.mock('@node-rs/argon2', () => jest.requireActual<typeof Metered>('../../support/hash-work').meter.argon2());
jest.mock('@node-rs/bcrypt', () => jest.requireActual<typeof Metered>('../../support/hash-work').meter.bcrypt());
jest.mock('node:crypto', () => jest.requireActual<typeof Metered>('../../support/hash-work').meter.crypto());

// Hashes of other systems are slow, and the machine may be busy.
jest.setTimeout(300_000);

const salt = Buffer.from('0123456789abcdef');
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
const argon2 = (algorithm: number, memoryCost: number, timeCost: number, parallelism = 1) =>
  hashArgon2(password, { algorithm, memoryCost, timeCost, parallelism });
const pbkdf2 = (iterations: number, bytes = 32) =>
  `$pbkdf2-sha256$i=${iterations}$${base64(salt)}$${base64(pbkdf2Sync(password, salt, iterations, bytes, 'sha256'))}`;
const scrypt = (ln: number) => {
  const hash = scryptSync(password, salt, 32, { N: 2 ** ln, r: 8, p: 1, maxmem: 2 ** 28 });
  return `$scrypt$ln=${ln},r=8,p=1$${base64(salt)}$${base64(hash)}`;
};

const ownHash = 'argon2id$v=19$m=19456,t=2,p=1';
const bcrypt10 = () => hashBcrypt(password, { cost: 10 });

/** Forms that an import accepts, two of most kinds: the cheaper one needs padding. */
const forms: Record<string, () => Promise<string> | string> = {
  'bcrypt 10': bcrypt10,
  'bcrypt 12': () => hashBcrypt(password, { cost: 12 }),
  'PBKDF2-SHA256 600,000': () => pbkdf2(600_000),
  'PBKDF2-SHA256 29,000 x 2': () => pbkdf2(29_000, 64),
  'scrypt 2^14': () => scrypt(14),
  'scrypt 2^15': () => scrypt(15),
  'Argon2id 64 MiB, 4 lanes': () => argon2(2, 65_536, 3, 4),
  'Argon2i 4 MiB': () => argon2(1, 4_096, 3),
  'wrapped MD5': () => createHash('md5').update(password).digest('hex'),
};

describe('rejected logins', () => {
  let service: TestService;
  const logins: Record<string, string> = {};

  async function importUser(name: string, password_hash: string): Promise<void> {
    const row = { user_type: 'carrier', name, email: `${name}@example.com`, carrier_id: 'c1', password_hash };
    const request = { headers: { 'content-type': 'application/x-ndjson' }, body: JSON.stringify(row) };
    const { body } = await service.post('/user/import', { token: service.admin.token, ...request });
    expect(body).toMatchObject({ changed: 1, skipped: [] });
  }

  async function workOf(url: string, body: object, token?: string): Promise<{ status: number; work: HashWork }> {
    await service.rows('delete from login_attempts');
    meter.take();
    const { status } = await service.post(url, { body, ...(token === undefined ? {} : { token }) });
    return { status, work: meter.take() };
  }
  const refusedWork = async (login: string): Promise<HashWork> => {
    const { status, work } = await workOf('/auth/login', { login, password: `${password}!` });
    expect(status).toBe(401);
    return work;
  };

  beforeAll(async () => {
    service = await TestService.start();
    for (const [index, [form, make]] of Object.entries(forms).entries()) {
      logins[form] = `imported-${index}`;
      await importUser(`imported-${index}`, await make());
    }
    const [own, disabled] = [await service.createUser(), await service.createUser()];
    const invited = await service.createUser({ password: undefined, must_change_password: undefined });
    await importUser('imported-disabled', await hashBcrypt(password, { cost: 11 }));
    for (const name of [disabled.name, 'imported-disabled'])
      await service.rows(`update users set status = 'disabled' where name = $1`, [name]);
    Object.assign(logins, { own: own.name, disabled: disabled.name, 'no password': invited.name });
    Object.assign(logins, { 'disabled, imported': 'imported-disabled', unknown: 'unknown-name' });
  });
  afterAll(() => service.close());

  it('costs the same hash work for each stored form as for a user who does not exist (L19)', async () => {
    const work: Record<string, HashWork> = {};
    for (const [form, login] of Object.entries(logins)) work[form] = await refusedWork(login);
    const { unknown } = work;
    expect(work).toEqual(Object.fromEntries(Object.keys(logins).map((form) => [form, unknown])));
    expect(unknown).toMatchObject({ [ownHash]: 1, bcrypt: 4_096, 'pbkdf2-sha256': 600_000 });
  });

  it('costs the same hash work with the right password of a disabled user (L19)', async () => {
    const unknown = await refusedWork('unknown-name');
    for (const form of ['disabled', 'disabled, imported'])
      expect(await workOf('/auth/login', { login: logins[form], password })).toEqual({ status: 401, work: unknown });
  });

  it('costs the same hash work as a wrong current password of a logged-in user (L19)', async () => {
    const unknown = await refusedWork('unknown-name');
    const { token, user_id } = await service.loginAs();
    const entered = { current_password: `${password}!` };
    const wrong = { status: 400, work: unknown };
    expect(await workOf('/auth/password', { ...entered, new_password: 'another fine password' }, token)).toEqual(wrong);
    await service.rows('update credentials set password_hash = $2 where user_id = $1', [user_id, await bcrypt10()]);
    expect(await workOf('/auth/email', { ...entered, email: 'new@example.com' }, token)).toEqual(wrong);
  });

  it('skips the padding when the password is right, and replaces a hash of another system (L19)', async () => {
    const { name } = await service.createUser();
    expect(await workOf('/auth/login', { login: name, password })).toEqual({ status: 200, work: { [ownHash]: 1 } });
    await importUser('imported-once', await bcrypt10());
    const login = { login: 'imported-once', password };
    const first = { [ownHash]: 1, bcrypt: 1_024, 'new hash': 1 };
    expect(await workOf('/auth/login', login)).toEqual({ status: 200, work: first });
    expect(await workOf('/auth/login', login)).toEqual({ status: 200, work: { [ownHash]: 1 } });
  });
});
