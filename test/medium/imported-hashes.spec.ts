import { createHash } from 'node:crypto';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { wrapMd5 } from '../../src/credentials/password-hashing';
import { TestService } from '../support/service';

const secret = 'a password of long ago';

describe('passwords hashed by other systems', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  async function userWith(password_hash: string): Promise<{ user_id: string; name: string }> {
    const user = await service.createUser();
    await service.rows('update credentials set password_hash = $2 where user_id = $1', [user.user_id, password_hash]);
    return user;
  }
  const hashOf = async (user_id: string) =>
    (
      await service.rows<{ password_hash: string }>('select password_hash from credentials where user_id = $1', [
        user_id,
      ])
    )[0]?.password_hash;
  const attempt = async (login: string, password: string) =>
    (await service.post('/auth/login', { body: { login, password } })).status;

  it.each([
    ['bcrypt', () => hashBcrypt(secret, { cost: 4 })],
    ['MD5 inside Argon2id', () => wrapMd5(createHash('md5').update(secret).digest('hex'))],
  ])('logs in with the right password only, and replaces the hash: %s', async (_form, make) => {
    const foreign = await make();
    const { user_id, name } = await userWith(foreign);
    expect(await attempt(name, `${secret}!`)).toBe(401);
    expect(await hashOf(user_id)).toBe(foreign);
    expect(await attempt(name, secret)).toBe(200);
    expect(await hashOf(user_id)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await attempt(name, secret)).toBe(200);
    expect(await attempt(name, `${secret}!`)).toBe(401);
  });

  it('verifies 72 bytes against bcrypt, and the whole password from the first login on', async () => {
    const long = 'é'.repeat(36) + ' and what bcrypt never saw';
    const { name } = await userWith(await hashBcrypt(long, { cost: 4 }));
    expect(await attempt(name, long)).toBe(200);
    expect(await attempt(name, `${long}!`)).toBe(401);
  });

  it('rejects every password for an unreadable hash, without an error of the service (F32)', async () => {
    const { name } = await userWith('$argon2id$v=19$m=999999999,t=3,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA');
    expect(await attempt(name, secret)).toBe(401);
  });
});
