import { createHash, pbkdf2Sync, scryptSync } from 'node:crypto';
import { hash as hashArgon2 } from '@node-rs/argon2';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { hashCost, METRICS_TOKEN } from '../support/hash-counts';
import { password as currentPassword, TestService } from '../support/service';
import { decode } from '../support/tokens';

const weak = 'rosebud';
const strong = 'four rivers under a wide bridge';
const salt = Buffer.from('0123456789abcdef');
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

const own = (password: string) => hashArgon2(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
const bcrypt = (password: string) => hashBcrypt(password, { cost: 4 });
const pbkdf2 = (password: string, iterations = 1_000) => base64(pbkdf2Sync(password, salt, iterations, 32, 'sha256'));

const forms: [string, (password: string) => Promise<string> | string][] = [
  ['bcrypt', bcrypt],
  ['Argon2 with other parameters', (password) => hashArgon2(password, { memoryCost: 64, timeCost: 1, parallelism: 1 })],
  ['scrypt', (password) => `$scrypt$ln=4,r=8,p=1$${base64(salt)}$${base64(scryptSync(password, salt, 32, { N: 16 }))}`],
  ['PBKDF2', (password) => `$pbkdf2-sha256$1000$${base64(salt)}$${pbkdf2(password)}`],
  ['MD5', (password) => createHash('md5').update(password).digest('hex')],
];

describe('imported passwords that the current policy rejects', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN });
  });
  afterAll(() => service.close());

  let count = 0;
  const replaceHash = async (user_id: string, password_hash: string) =>
    service.rows('update credentials set password_hash = $2 where user_id = $1', [user_id, password_hash]);

  const credentialOf = async <Row extends object>(columns: string, user_id: string) =>
    (await service.rows<Row>(`select ${columns} from credentials where user_id = $1`, [user_id]))[0];
  const isChecked = async (user_id: string) =>
    (await credentialOf<{ policy_checked: boolean }>('policy_checked', user_id))?.policy_checked;
  const credentialVersion = async (user_id: string) =>
    (await credentialOf<{ xmin: string }>('xmin::text', user_id))?.xmin;

  async function importUser(password_hash: string, more: object = {}): Promise<{ name: string; user_id: string }> {
    const name = `imported-${++count}`;
    const row = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, password_hash, ...more };
    const request = { headers: { 'content-type': 'application/x-ndjson' }, body: JSON.stringify(row) };
    const { body } = await service.post('/user/import', { token: service.admin.token, ...request });
    expect(body).toMatchObject({ changed: 1, skipped: [] });
    const users = await service.rows<{ user_id: string }>('select user_id from users where name = $1', [name]);
    return { name, user_id: users[0]?.user_id ?? '' };
  }
  const logIn = (login: string, password: string) => service.post('/auth/login', { body: { login, password } });

  it.each(forms)(
    'requires a change after the first login, which is already restricted: %s (P12)',
    async (_form, make) => {
      const { name } = await importUser(await make(weak), { roles: ['carrier_administrator'] });
      const { body, status } = await logIn(name, weak);
      expect([status, body.user.must_change_password]).toEqual([200, true]);
      const token = body.access_token;
      expect(decode(token)['roles']).toEqual([]);
      expect((await service.get('/user/list', { token })).body.code).toBe('auth.password_change_required');
      const checked = await service.post('/auth/check-token', { body: { token } });
      expect(checked.body).toMatchObject({ user: { must_change_password: true }, permissions: [] });
      expect((await logIn(name, weak)).body.user.must_change_password).toBe(true);

      const change = { current_password: weak, new_password: strong };
      expect((await service.post('/auth/password', { token, body: change })).status).toBe(204);
      expect((await service.get('/user/list', { token })).status).toBe(200);
      const free = await logIn(name, strong);
      expect(free.body.user.must_change_password).toBe(false);
      expect(decode(free.body.access_token)['roles']).toEqual(['carrier_administrator']);
    },
  );

  it.each(forms)('requires no change if the policy allows the password: %s', async (_form, make) => {
    const { name } = await importUser(await make(strong));
    expect((await logIn(name, strong)).body.user.must_change_password).toBe(false);
  });

  it('requires a change of an imported password with current parameters that the policy rejects (P12)', async () => {
    const { name, user_id } = await importUser(await own(weak), { roles: ['carrier_administrator'] });
    const { body, status } = await logIn(name, weak);
    expect([status, body.user.must_change_password]).toEqual([200, true]);
    expect(decode(body.access_token)['roles']).toEqual([]);
    expect(await isChecked(user_id)).toBe(true);
    expect((await logIn(name, weak)).body.user.must_change_password).toBe(true);
  });

  it('checks a strong imported password with current parameters at the first login only', async () => {
    const { name, user_id } = await importUser(await own(strong));
    expect(await isChecked(user_id)).toBe(false);
    expect((await logIn(name, strong)).body.user.must_change_password).toBe(false);
    expect(await isChecked(user_id)).toBe(true);

    // A weak password that was already checked, as after a policy became stricter.
    await replaceHash(user_id, await own(weak));
    const before = await credentialVersion(user_id);
    expect((await logIn(name, weak)).body.user.must_change_password).toBe(false);
    expect(await credentialVersion(user_id)).toBe(before);
  });

  it('checks an imported password only after a successful login', async () => {
    const { name, user_id } = await importUser(await own(weak));
    expect((await logIn(name, strong)).status).toBe(401);
    expect(await isChecked(user_id)).toBe(false);
  });

  it('marks a password that replaces an unchecked one as checked', async () => {
    const { user_id, token } = await service.loginAs();
    await service.rows('update credentials set policy_checked = false where user_id = $1', [user_id]);
    const change = { current_password: currentPassword, new_password: strong };
    expect((await service.post('/auth/password', { token, body: change })).status).toBe(204);
    expect(await isChecked(user_id)).toBe(true);
  });

  it('checks the password against the name of the user', async () => {
    const named = 'a fine password of ada-lovelace';
    await importUser(await bcrypt(named), { name: 'ada-lovelace' });
    expect((await logIn('ada-lovelace', named)).body.user.must_change_password).toBe(true);
  });

  it('records one event and one new version, even for concurrent first logins', async () => {
    const { name, user_id } = await importUser(await bcrypt(weak));
    const { version } = (await service.get(`/user/${user_id}`, service.admin)).body;
    const answers = await Promise.all([1, 2, 3].map(() => logIn(name, weak)));
    expect(answers.map(({ body }) => body.user.version)).toEqual([version + 1, version + 1, version + 1]);
    expect((await logIn(name, weak)).body.user.version).toBe(version + 1);
    const { body } = await service.get(`/audit/list?target_id=${user_id}&event_type=user.changed`, service.admin);
    expect(body.items).toHaveLength(1);
    expect(body.items[0]).toMatchObject({
      actor_type: 'system',
      actor_id: null,
      target_type: 'user',
      changes: { must_change_password: { before: false, after: true } },
    });
  });

  it('restricts the open sessions of the user as well', async () => {
    const { name, user_id } = await importUser(await bcrypt(strong));
    const before = (await logIn(name, strong)).body;
    await replaceHash(user_id, await bcrypt(weak));
    expect((await logIn(name, weak)).body.user.must_change_password).toBe(true);
    const answer = await service.get(`/auth/session/list`, { token: before.access_token });
    expect(answer.body.code).toBe('auth.password_change_required');
  });

  it('keeps the hash when the password is only confirmed, so that the next login still checks it', async () => {
    const { user_id, name, token } = await service.loginAs();
    await replaceHash(user_id, await bcrypt(weak));
    const change = { email: 'confirmed@example.com', current_password: weak };
    expect((await service.post('/auth/email', { token, body: change })).status).toBe(202);
    expect((await logIn(name, weak)).body.user.must_change_password).toBe(true);
  });

  it('takes the work of an imported hash to reject anyone, and less for a right password (L19)', async () => {
    const [user, disabled] = [await service.createUser(), await service.createUser()];
    await service.rows(`update users set status = 'disabled' where user_id = $1`, [disabled.user_id]);
    const { name } = await importUser(`$pbkdf2-sha256$600000$${base64(salt)}$${pbkdf2(strong, 600_000)}`);
    const seconds = async (login: string, secret: string, status: number) => {
      const { cpuSeconds } = await hashCost(service, async () =>
        expect((await logIn(login, secret)).status).toBe(status),
      );
      await service.rows('delete from login_attempts');
      return cpuSeconds;
    };
    const least = (await seconds('unknown-name', strong, 401)) / 2;
    for (const login of [user.name, disabled.name, name])
      expect([login, (await seconds(login, weak, 401)) > least]).toEqual([login, true]);
    expect(await seconds(disabled.name, currentPassword, 401)).toBeGreaterThan(least);
    expect(await seconds(user.name, currentPassword, 200)).toBeLessThan(least);
  });
});
