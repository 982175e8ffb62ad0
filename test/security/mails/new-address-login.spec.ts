import { endMailLimits, queueEmpty } from '../../support/links';
import { partsOf } from '../../support/mail-parts';
import { Authenticator, firstStep } from '../../support/second-factors';
import { password, TestService } from '../../support/service';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0';
const [home, away] = ['192.0.2.1', '198.51.100.1'];

describe('a login from a new address', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());
  beforeEach(() => endMailLimits(service));

  const login = async (name: string, ip: string, secret = password): Promise<number> =>
    (
      await service.post('/auth/login', {
        body: { login: name, password: secret },
        ip,
        headers: { 'user-agent': firefox },
      })
    ).status;
  /** Returns the mails to a user, after all have been sent. */
  const mailsTo = async (email: string) => {
    await queueEmpty(service);
    return service.mailbox.mails.filter(({ to }) => to.includes(email));
  };
  /** Creates a user who has logged in at home. */
  const user = async (fields: Record<string, unknown> = {}) => {
    const created = await service.createUser(fields);
    expect(await login(created.name, home)).toBe(200);
    return created;
  };

  it('is mailed with time, address and device, and the first login is not (R24)', async () => {
    const { name, email } = await user({ locale: 'de', timezone: 'Europe/Vienna' });
    expect(await mailsTo(email)).toEqual([]);
    expect(await login(name, home)).toBe(200);
    expect(await mailsTo(email)).toEqual([]);
    expect(await login(name, away)).toBe(200);
    const [mail, ...others] = await mailsTo(email);
    expect(others).toEqual([]);
    const { text } = partsOf(mail?.source ?? '');
    expect(text).toMatch(/^Zeitpunkt: \d+\. \S+ \d{4} um \d\d:\d\d:\d\d (MEZ|MESZ)\r?$/m);
    expect(text).toMatch(/^IP-Adresse: 198\.51\.100\.1\r?\nGerät: Firefox 131, Linux\r?$/m);
    expect(await login(name, away)).toBe(200);
    expect(await mailsTo(email)).toHaveLength(1);
  });

  it('is mailed again after 30 days, and if the counter of the address was removed', async () => {
    const { name, email, user_id } = await user();
    await service.rows(`update login_attempts set known_until = now() where account = $1 and address = $2`, [
      user_id,
      home,
    ]);
    expect(await login(name, home)).toBe(200);
    expect(await mailsTo(email)).toHaveLength(1);
    await service.rows('delete from login_attempts where account = $1', [user_id]);
    expect(await login(name, home)).toBe(200);
    expect(await mailsTo(email)).toHaveLength(2);
  });

  it('is mailed once for the addresses of one IPv6 network, and not for wrong passwords', async () => {
    const { name, email } = await user();
    expect(await login(name, '2001:db8:0:1::1')).toBe(200);
    expect(await login(name, '2001:db8:0:1:ffff::2')).toBe(200);
    expect(await mailsTo(email)).toHaveLength(1);
    expect(await login(name, away, 'a wrong password')).toBe(401);
    expect(await mailsTo(email)).toHaveLength(1);
  });

  it('is mailed once if the same address logs in several times at once', async () => {
    const { name, email } = await user();
    const statuses = await Promise.all(Array.from({ length: 5 }, () => login(name, away)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await mailsTo(email)).toHaveLength(1);
  });

  it('is mailed at most five times a day to a user (E13)', async () => {
    const [{ name, email }, other] = [await user(), await user()];
    for (let i = 1; i <= 12; i++) expect(await login(name, `203.0.113.${i}`)).toBe(200);
    expect(await mailsTo(email)).toHaveLength(5);
    expect(await login(other.name, away)).toBe(200);
    expect(await mailsTo(other.email)).toHaveLength(1);
  });

  it('is mailed after the second step, not after the first', async () => {
    const { name, email, user_id } = await user();
    const app = await Authenticator.enrol((text, values) => service.rows(text, values), user_id);
    const challenge = await firstStep((url, request) => service.post(url, request), name, away);
    expect(await mailsTo(email)).toEqual([]);
    const second = await service.post('/auth/second-factor', { body: { challenge, code: app.code() }, ip: away });
    expect(second.status).toBe(200);
    expect(partsOf((await mailsTo(email))[0]?.source ?? '').text).toContain('IP address: 198.51.100.1');
  });

  it('with a recovery code is mailed with the number of codes that are left', async () => {
    const { name, email, user_id } = await user();
    const app = await Authenticator.enrol((text, values) => service.rows(text, values), user_id);
    const [first, second] = [await app.recoveryCode(), await app.recoveryCode(), await app.recoveryCode()];
    const use = async (recovery_code: string | undefined): Promise<string> => {
      const challenge = await firstStep((url, request) => service.post(url, request), name, home);
      const body = { challenge, recovery_code };
      expect((await service.post('/auth/second-factor', { body, ip: home })).status).toBe(200);
      return partsOf((await service.mailbox.take(email, /recovery code/i)).source).text;
    };
    expect(await use(first)).toMatch(/At most two recovery codes are left[^]*Recovery codes left: 2\r?$/m);
    expect(await use(second)).toMatch(/Recovery codes left: 1\r?$/m);
  });
});
