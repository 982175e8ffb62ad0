import { setTimeout as delay } from 'node:timers/promises';
import { PasswordStrength, strengthLimits } from '../../src/auth/passwords/policy/password-strength';
import { until } from '../support/until';

/** Patient, because the machine of the tests may be busy. */
const patient = { ...strengthLimits, checkMs: 30_000, loadMs: 60_000, patienceMs: 60_000 };
/** A random password of 64 characters, which takes longest. */
const longest = 'q8Z!r3@Vx7$Lm1#Tw9^Kp2&Hn5*Bc4(Yd6)Gf0-Js_Xe+Ua=Ri%Ob~Nk?Cq;Mt:E';
const strong = { isStrong: true, hints: [] };

describe('the strength of passwords', () => {
  let strength: PasswordStrength;
  beforeEach(() => {
    strength = new PasswordStrength(patient);
  });
  afterEach(() => strength.onApplicationShutdown());

  it('accepts phrases and random passwords, and explains what makes others easy to guess', async () => {
    for (const password of ['correct horse battery staple', 'пароль без правил', longest])
      expect([password, await strength.check(password, [])]).toEqual([password, strong]);
    const weak: [string, string][] = [
      ['password1234567', 'similar_to_common'],
      ['P@ssw0rd12345678', 'l33t'],
      ['abcabcabcabcabcabc', 'extended_repeat'],
      ['qwertzuiopqwertzuiop', 'another_word'],
      ['jannine@example.com1', 'user_inputs'],
    ];
    for (const [password, hint] of weak) {
      const found = await strength.check(password, ['jannine@example.com']);
      expect([password, found?.isStrong]).toEqual([password, false]);
      expect([password, found?.hints]).toEqual([password, expect.arrayContaining([hint])]);
    }
    expect(await strength.check('jannine@example.com1', [])).toEqual(strong);
  });

  it('checks only the first 64 characters, also of characters outside the basic plane', async () => {
    expect((await strength.check(`${'ab'.repeat(32)}${longest}`, []))?.isStrong).toBe(false);
    expect((await strength.check(`${'🦊'.repeat(64)}${longest}`, []))?.isStrong).toBe(false);
    expect((await strength.check(`${'🦊'.repeat(40)}${longest}`, []))?.isStrong).toBe(true);
  });

  it('leaves the event loop free while it checks long passwords in any script (P17)', async () => {
    const checks = ['абвгдежзиклмн', '文字列測試密碼', '4@8({[<3619|!1705$7+2'].map((letters) => {
      const characters = [...letters];
      // Without a period, because repetitions are checked fast.
      const secret = Array.from(
        { length: 256 },
        (_, index) => characters[(index * index * 7 + index) % characters.length],
      );
      return strength.check(secret.join(''), []);
    });
    let [running, turns] = [true, 0];
    const done = Promise.all(checks).finally(() => (running = false));
    for (; running; turns++) await delay(1);
    expect(turns).toBeGreaterThan(2 * checks.length);
    expect(await done).not.toContain(null);
  });

  it('stops a check that takes too long, without a result, and restarts the thread', async () => {
    const limits = { ...patient, checkMs: 1 };
    const hurried = new PasswordStrength(limits);
    // The answer may arrive in time if this process was suspended.
    await until(async () => (await hurried.check(longest, [])) === null);
    limits.checkMs = patient.checkMs;
    expect(await hurried.check(longest, [])).toEqual(strong);
    await hurried.onApplicationShutdown();
  });

  it('has no result while the thread loads for too long, and uses the thread later', async () => {
    const hurried = new PasswordStrength({ ...patient, loadMs: 1 });
    expect(await hurried.check(longest, [])).toBeNull();
    await until(async () => (await hurried.check(longest, [])) !== null);
    await hurried.onApplicationShutdown();
  });

  it('survives a crash of the thread, and starts another one', async () => {
    expect(await strength.check(longest, [])).toEqual(strong);
    // Not a text: the library throws.
    expect(await strength.check(longest, [null as never])).toBeNull();
    expect(await strength.check(longest, [])).toEqual(strong);
  });

  it('has no result for passwords beyond the limit of waiting passwords', async () => {
    const small = new PasswordStrength({ ...patient, waitingMax: 2 });
    const results = await Promise.all(Array.from({ length: 5 }, () => small.check(longest, [])));
    expect(results).toEqual([strong, strong, null, null, null]);
    expect(await small.check(longest, [])).toEqual(strong);
    await small.onApplicationShutdown();
  });

  it('has no result for passwords that waited too long', async () => {
    const hurried = new PasswordStrength({ ...patient, patienceMs: 100 });
    const results = await Promise.all([hurried.check(longest, []), hurried.check(longest, [])]);
    expect(results).toEqual([strong, null]);
    await hurried.onApplicationShutdown();
  });

  it('starts no thread after the shutdown', async () => {
    await strength.onApplicationShutdown();
    expect(await strength.check('aaaaaaaa', [])).toBeNull();
  });
});
