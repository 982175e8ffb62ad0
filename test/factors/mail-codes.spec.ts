import { endMailLimits, mailedResetToken, queueEmpty } from '../support/links';
import { confirmApp, enrolApp } from '../support/factors';
import { password, type TestAnswer, type TestLogin, TestService } from '../support/service';

const past = '2020-01-01T00:00:00Z';
const codeOf = ({ status, body }: TestAnswer): string => `${status}${body?.code === undefined ? '' : ` ${body.code}`}`;

describe('the mailed code for the first factor', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const enrol = ({ token }: { token: string }, body: object = {}) => service.post('/auth/factor/totp', { token, body });

  /** Returns the newest mailed code of a user. */
  async function mailedCode(email: string): Promise<string> {
    await queueEmpty(service);
    const codes = service.mailbox.mails
      .filter(({ to }) => to.includes(email))
      .flatMap(({ source }) => /^[0-9]{8}\r?$/m.exec(source)?.[0].trim() ?? []);
    return codes.at(-1) ?? '';
  }

  /** Returns the mails with codes of a user. */
  const codeMails = (email: string) =>
    service.mailbox.mails.filter(({ to, source }) => to.includes(email) && /^[0-9]{8}\r?$/m.test(source));
  const wrongCode = (right: string) => (right === '00000000' ? '00000001' : '00000000');
  const endPause = (user_id: string) =>
    service.rows(`update enrollment_codes set requested_at = requested_at - interval '5 minutes' where user_id = $1`, [
      user_id,
    ]);
  const reset = (user_id: string) => service.delete(`/user/${user_id}/factor/all`, service.admin);

  it('rejects a device of a caller who knows only the password of a user who must enrol (M10)', async () => {
    const thief = await service.loginAs({ second_factor_required_from: past });
    const right = await mailedCode(thief.email);
    expect(right).toMatch(/^[0-9]{8}$/);
    for (const body of [{}, { mail_code: wrongCode(right) }, { mail_code: 'x' }, { mail_code: `${right}0` }])
      expect(codeOf(await enrol(thief, body))).toBe('403 auth.mail_code_required');
    // Control: the owner of the mailbox can enrol, with spaces as people type them.
    const added = await enrol(thief, { mail_code: `${right.slice(0, 4)} ${right.slice(4)}` });
    expect(codeOf(added)).toBe('201');
    expect(codeOf(await confirmApp(service, thief, added.body))).toBe('200');
    expect(await service.rows('select 1 from enrollment_codes where user_id = $1', [thief.user_id])).toEqual([]);
    expect((await service.get('/user', thief)).body).toMatchObject({
      must_enroll_second_factor: false,
      second_factors: ['totp'],
    });
    // Further factors need no code.
    expect(codeOf(await enrol(thief))).toBe('201');
  });

  it('rejects a passkey of a caller who knows only the password of a user who must enrol (M10)', async () => {
    const { token, email } = await service.loginAs({ second_factor_required_from: past });
    const right = await mailedCode(email);
    const options = (body: object) => service.post('/auth/factor/passkey/options', { token, body });
    for (const body of [{}, { mail_code: wrongCode(right) }])
      expect(codeOf(await options(body))).toBe('403 auth.mail_code_required');
    expect(codeOf(await options({ mail_code: right }))).toBe('200');
  });

  it('rejects a device of a caller who knows only the password of a user whose factors were reset (M10)', async () => {
    const user = await service.loginAs();
    await enrolApp(service, user);
    expect((await reset(user.user_id)).status).toBe(204);
    const again = await service.login(user.name);
    expect(codeOf(await enrol(again))).toBe('403 auth.mail_code_required');
    expect(codeOf(await enrol(again, { mail_code: await mailedCode(user.email) }))).toBe('201');
  });

  it('requires no code from a user who need not enrol and whose factors were not reset', async () => {
    const user = await service.loginAs({ second_factor_required_from: '2099-01-01T00:00:00Z' });
    expect(codeOf(await enrol(user))).toBe('201');
    expect(await mailedCode(user.email)).toBe('');
  });

  it('requires no code, and mails none, after the requirement was withdrawn', async () => {
    const user = await service.loginAs({ second_factor_required_from: past });
    const first = await mailedCode(user.email);
    expect(first).toMatch(/^[0-9]{8}$/);
    await service.rows('update users set second_factor_required_from = null where user_id = $1', [user.user_id]);
    await endPause(user.user_id);
    const again = await service.login(user.name);
    expect(await mailedCode(user.email)).toBe(first);
    expect(codeOf(await enrol(again))).toBe('201');
  });

  it('requires a code after a reset, at each login, until the user enrols a factor (M10)', async () => {
    const user = await service.loginAs();
    await enrolApp(service, user);
    const body = { reset_second_factors: true };
    const done = await service.patch(`/user/all?user_id_in=${user.user_id}`, { token: service.admin.token, body });
    expect(done.body).toMatchObject({ changed: 1 });
    await service.login(user.name);
    await endPause(user.user_id);
    const again = await service.login(user.name);
    expect(codeOf(await enrol(again))).toBe('403 auth.mail_code_required');
    const added = await enrol(again, { mail_code: await mailedCode(user.email) });
    expect(codeOf(await confirmApp(service, again, added.body))).toBe('200');
    // Removed by the user: no reset.
    expect((await service.delete(`/auth/factor/${added.body.factor_id}`, again)).status).toBe(204);
    const last = await mailedCode(user.email);
    expect(codeOf(await enrol(await service.login(user.name)))).toBe('201');
    expect(await mailedCode(user.email)).toBe(last);
  });

  it('accepts no code of another user, and none after 15 minutes', async () => {
    const [one, two] = [
      await service.loginAs({ second_factor_required_from: past }),
      await service.loginAs({ second_factor_required_from: past }),
    ];
    const mail_code = await mailedCode(one.email);
    expect(codeOf(await enrol(two, { mail_code }))).toBe('403 auth.mail_code_required');
    const age = (seconds: number) =>
      service.rows(`update enrollment_codes set expires_at = expires_at - $2 * interval '1 s' where user_id = $1`, [
        one.user_id,
        seconds,
      ]);
    await age(840);
    expect(codeOf(await enrol(one, { mail_code }))).toBe('201');
    await age(60);
    expect(codeOf(await enrol(one, { mail_code }))).toBe('403 auth.mail_code_required');
  });

  it('rejects a new address of a user whose factors were reset, to which the code would go (M10)', async () => {
    const user = await service.loginAs();
    const propose = ({ token }: { token: string }, email: string) =>
      service.post('/auth/email', { token, body: { email, current_password: password } });
    await enrolApp(service, user);
    expect(codeOf(await propose(user, 'first@example.net'))).toBe('202');
    expect(codeOf(await reset(user.user_id))).toBe('204');
    const thief = await service.login(user.name);
    expect(codeOf(await propose(thief, 'thief@example.net'))).toBe('403 auth.mail_code_required');
  });

  it('compares at most 5 wrong codes, also at the same time, until the next mail (M10)', async () => {
    const user = await service.loginAs({ second_factor_required_from: past });
    const right = await mailedCode(user.email);
    const guesses = await Promise.all(Array.from({ length: 20 }, () => enrol(user, { mail_code: wrongCode(right) })));
    expect(new Set(guesses.map(codeOf))).toEqual(new Set(['403 auth.mail_code_required']));
    const [row] = await service.rows<{ wrong_codes: number }>(
      'select wrong_codes from enrollment_codes where user_id = $1',
      [user.user_id],
    );
    expect(row?.wrong_codes).toBe(5);
    expect(codeOf(await enrol(user, { mail_code: right }))).toBe('403 auth.mail_code_required');
    await endPause(user.user_id);
    const again = await service.login(user.name);
    const next = await mailedCode(user.email);
    expect(next).not.toBe(right);
    expect(codeOf(await enrol(again, { mail_code: right }))).toBe('403 auth.mail_code_required');
    expect(codeOf(await enrol(again, { mail_code: next }))).toBe('201');
  });

  it('mails at most one code in 5 minutes, however often the user logs in', async () => {
    const user = await service.loginAs({ second_factor_required_from: past });
    for (let login = 0; login < 3; login++) await service.login(user.name);
    await queueEmpty(service);
    expect(codeMails(user.email)).toHaveLength(1);
    await endPause(user.user_id);
    await service.login(user.name);
    await queueEmpty(service);
    expect(codeMails(user.email)).toHaveLength(2);
  });

  it('mails at most 10 codes a day, so that a stranger with the password cannot flood the inbox (E13)', async () => {
    const user = await service.loginAs({ second_factor_required_from: past });
    for (let logins = 0; logins < 12; logins++) {
      await queueEmpty(service);
      await endPause(user.user_id);
      await service.login(user.name);
    }
    await queueEmpty(service);
    expect(codeMails(user.email)).toHaveLength(10);
    await service.rows(`update rate_limits set ends_at = now()`);
    await endPause(user.user_id);
    await service.login(user.name);
    await queueEmpty(service);
    expect(codeMails(user.email)).toHaveLength(11);
  });

  it('lets the user enrol after a reset although a stranger used up the mailed code (M10)', async () => {
    const user = await service.createUser({ second_factor_required_from: past });
    const stranger = await service.login(user.name);
    const right = await mailedCode(user.email);
    for (let guesses = 0; guesses < 5; guesses++) await enrol(stranger, { mail_code: wrongCode(right) });
    const here = await service.login(user.name);
    expect(codeOf(await enrol(here, { mail_code: right }))).toBe('403 auth.mail_code_required');
    const token = await mailedResetToken(service, user.email);
    expect((await service.post(`/auth/reset/${token}`, { body: { password: `${password} 2` } })).status).toBe(204);
    expect(codeOf(await enrol(stranger))).toBe('401 auth.token_invalid');
    expect(codeOf(await enrol(await service.login(user.name, `${password} 2`)))).toBe('201');
  });

  it('stores a keyed hash, so that eight digits of a dump cannot be guessed', async () => {
    const user = await service.loginAs({ second_factor_required_from: past });
    const code = await mailedCode(user.email);
    const [row] = await service.rows<{ known: boolean; bytes: number }>(
      `select
         code_hash in (sha256($2::text::bytea), sha256((user_id || ':' || $2)::bytea), $2::text::bytea) as known,
         octet_length(code_hash) as bytes
       from enrollment_codes
       where user_id = $1`,
      [user.user_id, code],
    );
    expect(row).toEqual({ known: false, bytes: 32 });
  });

  describe('after a mailed link', () => {
    it.each([
      ['a reset', {}],
      ['an invitation', { password: undefined, must_change_password: undefined }],
    ])('requires no code for an hour after %s', async (_title, fields) => {
      const created = await service.createUser({ second_factor_required_from: past, ...fields });
      const isInvited = 'password' in fields;
      const token = isInvited
        ? (await service.mailbox.take(created.email, /\/auth\/reset\//)).token
        : await mailedResetToken(service, created.email);
      expect((await service.post(`/auth/reset/${token}`, { body: { password: `${password} 2` } })).status).toBe(204);
      const user = await service.login(created.name, `${password} 2`);
      expect(await mailedCode(created.email)).toBe('');
      expect(codeOf(await enrol(user))).toBe('201');
      await service.rows(`update one_time_tokens set used_at = used_at - interval '61 minutes' where user_id = $1`, [
        created.user_id,
      ]);
      expect(codeOf(await enrol(user))).toBe('403 auth.mail_code_required');
      await service.login(created.name, `${password} 2`);
      expect(codeOf(await enrol(user, { mail_code: await mailedCode(created.email) }))).toBe('201');
    });

    it('requires a code after a link that confirms an address (M10)', async () => {
      const user: TestLogin & { email: string; name: string } = await service.loginAs({
        second_factor_required_from: past,
      });
      await endMailLimits(service);
      await service.rows('update users set email_pending = $2 where user_id = $1', [user.user_id, `new-${user.email}`]);
      await service.rows(
        `insert into one_time_tokens (user_id, purpose, requested_at, used_at) values ($1, 'email', now(), now())`,
        [user.user_id],
      );
      expect(codeOf(await enrol(user))).toBe('403 auth.mail_code_required');
    });
  });
});
