import { randomBytes } from 'node:crypto';
import { endMailLimits, queueEmpty } from '../../support/links';
import { partsOf } from '../../support/mail-parts';
import { Authenticator, firstStep } from '../../support/second-factors';
import { TestService } from '../../support/service';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0';
const address = '192.0.2.7';

describe('a right password without a second step', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());
  beforeEach(() => endMailLimits(service));

  const rows = (text: string, values: unknown[]) => service.rows(text, values);
  const post = (url: string, request: { body: object; ip?: string }) => service.post(url, request);

  /** Inserts the challenge of a login that began `age` ago. */
  const challenge = async (user_id: string, age: string, ip = address): Promise<void> => {
    await service.rows(
      `insert into login_challenges (challenge_hash, user_id, counter_address, ip, user_agent, created_at, expires_at)
       values ($1, $2, '', $3, $4, now() - $5::interval, now() - $5::interval + interval '5 minutes')`,
      [randomBytes(32), user_id, ip, firefox, age],
    );
  };
  const expire = async (): Promise<void> => {
    await service.rows(`select graphile_worker.add_job('expire-login-challenges', '{}')`);
    await queueEmpty(service);
  };
  const left = async (user_id: string): Promise<number> =>
    (await service.rows('select 1 from login_challenges where user_id = $1', [user_id])).length;
  const received = (email: string) => service.mailbox.mails.filter(({ to }) => to.includes(email));

  it('is mailed with the time of the password, its address and device (R24)', async () => {
    const { user_id, email } = await service.createUser({ timezone: 'Asia/Tokyo' });
    const [row] = await service.rows<{ at: string }>(
      `select to_char((now() - interval '90 minutes') at time zone 'Asia/Tokyo', 'HH24:MI') as at`,
    );
    await challenge(user_id, '90 minutes');
    await expire();
    const { text } = partsOf((await service.mailbox.take(email)).source);
    expect(text).toMatch(/^Time: .* at \d\d:\d\d:\d\d (GMT\+9|JST)\r?$/m);
    // The minute may end between the two statements.
    const minutes = /at (\d\d):(\d\d):/.exec(text)?.slice(1).map(Number) ?? [];
    const [hour = 0, minute = 0] = row?.at.split(':').map(Number) ?? [];
    expect([0, 1]).toContain(((minutes[0] ?? 0) * 60 + (minutes[1] ?? 0) - hour * 60 - minute + 1_440) % 1_440);
    expect(text).toMatch(/^IP address: 192\.0\.2\.7\r?\nDevice: Firefox 131, Linux\r?$/m);
    expect(await left(user_id)).toBe(0);
  });

  it('is mailed once a day, for any number of challenges (E13)', async () => {
    const { user_id, email } = await service.createUser();
    for (let i = 0; i < 5; i++) await challenge(user_id, '6 minutes', `198.51.100.${i}`);
    await expire();
    await challenge(user_id, '6 minutes');
    await expire();
    expect(received(email)).toHaveLength(1);
    expect(await left(user_id)).toBe(0);
    await service.rows(`update rate_limits set ends_at = now() - interval '1 second'`);
    await challenge(user_id, '6 minutes');
    await expire();
    expect(received(email)).toHaveLength(2);
  });

  it('is mailed although the same password was used for a login from another address', async () => {
    const { user_id, email, name } = await service.createUser();
    await challenge(user_id, '6 minutes');
    await service.login(name);
    await expire();
    expect(received(email)).toHaveLength(1);
  });

  it('is not mailed if the challenge has not expired, or if the user logged in from its address', async () => {
    const [waiting, restarted] = [await service.createUser(), await service.createUser()];
    await challenge(waiting.user_id, '4 minutes');
    await challenge(restarted.user_id, '6 minutes', '127.0.0.1');
    await service.login(restarted.name);
    await expire();
    expect([await left(waiting.user_id), await left(restarted.user_id)]).toEqual([1, 0]);
    expect([...received(waiting.email), ...received(restarted.email)]).toEqual([]);
  });

  it('is mailed even if the attacker keeps asking for challenges, or uses one up with wrong codes (M3)', async () => {
    const [user, guessed] = [await service.createUser(), await service.createUser()];
    const app = await Authenticator.enrol(rows, user.user_id);
    for (let i = 0; i < 6; i++) await firstStep(post, user.name, address);
    await expire();
    expect(await left(user.user_id)).toBe(5);
    expect(received(user.email)).toHaveLength(1);
    await Authenticator.enrol(rows, guessed.user_id);
    const body = { challenge: await firstStep(post, guessed.name, address), code: app.wrongCode() };
    for (let i = 0; i < 5; i++) expect((await post('/auth/second-factor', { body })).status).toBe(401);
    await service.rows('update login_challenges set expires_at = now() where user_id = $1', [guessed.user_id]);
    await expire();
    expect(received(guessed.email)).toHaveLength(1);
  });

  it('is mailed although the attacker makes the service reject the challenge, from another address (R24)', async () => {
    const { user_id, email, name } = await service.createUser({ allowed_ips: ['192.0.2.0/24'] });
    await Authenticator.enrol(rows, user_id);
    const body = { challenge: await firstStep(post, name, address), recovery_code: 'A'.repeat(24) };
    const rejected = await post('/auth/second-factor', { body, ip: '198.51.100.9' });
    expect(rejected.body.code).toBe('auth.challenge_invalid');
    await expire();
    expect(received(email)).toHaveLength(1);
    expect(await left(user_id)).toBe(0);
  });

  it('expires more challenges than a batch holds, and mails each user once', async () => {
    const { user_id, email } = await service.createUser();
    await service.rows(
      `insert into login_challenges (challenge_hash, user_id, counter_address, expires_at)
       select sha256(i::text::bytea), $1, '', now() - i * interval '1 second'
       from generate_series(1, 2500) i`,
      [user_id],
    );
    await expire();
    expect(await left(user_id)).toBe(0);
    expect(received(email)).toHaveLength(1);
    expect(partsOf(received(email)[0]?.source ?? '').text).toContain('IP address: unknown');
  });
});
