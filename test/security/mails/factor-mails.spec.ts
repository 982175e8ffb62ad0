import { codeAt, currentStep } from '../../support/factors';
import { expectWellMade, linkIn, type MailParts, partsOf } from '../../support/mail-parts';
import { TestService } from '../../support/service';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0';
const origin = { ip: '192.0.2.7', headers: { 'user-agent': firefox } };

describe('a mail about the factors of a user', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const take = async (email: string, subject: string): Promise<MailParts> => {
    const { source } = await service.mailbox.take(email, new RegExp(`Subject: ${subject}`));
    expect(source).not.toMatch(/evil|1787569|1337|alert|Bcc/);
    return partsOf(source);
  };

  it.each([
    '<script>alert(1)</script><a href="//evil.test">x</a>',
    '{{1337*1337}} {code} {duration}',
    'Your account is locked: evil.test/reset',
    '=?utf-8?q?Bcc:_evil@evil.test?=',
  ])('states time, address and device, and omits the name %s (I17)', async (name) => {
    const { token, user_id, email } = await service.loginAs();
    const added = await service.post('/auth/factor/totp', { token, body: { name } });
    expect(added.status).toBe(201);
    const { factor_id, secret } = added.body;
    const code = codeAt(secret, await currentStep(service));
    const confirmed = await service.post('/auth/factor/totp/confirm', { token, body: { factor_id, code }, ...origin });
    expect(confirmed.status).toBe(200);
    const enrolled = await take(email, 'A second factor was added to your account');
    expectWellMade(enrolled, 'en', linkIn(enrolled.text));
    expect(enrolled.text).toContain('Second factor: Authenticator app');
    expect(enrolled.text).toMatch(/^Time: .+\r?\nIP address: 192\.0\.2\.7\r?\nDevice: Firefox 131, Linux\r?$/m);
    expect((await service.delete(`/auth/factor/${factor_id}`, { token, ...origin })).status).toBe(204);
    const removed = await take(email, 'A second factor was removed');
    expect(removed.text).toMatch(/^IP address: 192\.0\.2\.7\r?\nDevice: Firefox 131, Linux\r?$/m);
    await service.rows(
      `insert into second_factors (factor_id, user_id, kind, name, confirmed_at, secret)
       values (gen_random_uuid(), $1, 'totp', $2, now(), '')`,
      [user_id, name],
    );
    const reset = await service.delete(`/user/${user_id}/factor/all`, { token: service.admin.token, ...origin });
    expect(reset.status).toBe(204);
    const byOther = await take(email, 'The second factors of your account were');
    expectWellMade(byOther, 'en', linkIn(byOther.text));
    expect(byOther.text).toContain('Changed by: an administrator');
    expect(byOther.text + byOther.html).not.toMatch(/192\.0\.2\.7|Firefox/);
  });
});
