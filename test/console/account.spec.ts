import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { Secret, TOTP } from 'otpauth';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import {
  choose,
  click,
  confirm,
  dialogOf,
  faultyInput,
  fill,
  follow,
  freshAuthenticationDialog,
  headingOf,
  logOut,
  proveIdentity,
  sees,
  submit,
  userMenu,
} from '../support/console-page';
import { enrolApp, forgetSteps } from '../support/factors';
import { phone } from '../support/screens';
import { password } from '../support/service';
import { VirtualDevice } from '../support/virtual-device';

const newPassword = 'violet kettle marches over 9 hills';
const required = { second_factor_required_from: '2020-01-01T00:00:00Z' };

describe('the account page of the console', () => {
  const subject = useConsole();
  const patch = (user_id: string, body: object) =>
    subject.service.patch(`/user/${user_id}`, { token: subject.service.admin.token, body });

  it('saves changed fields of the profile, and shows an error at its field', async () => {
    const { page, user_id } = await subject.loginAs({ first_name: 'Ada', job_title: 'Clerk' }, '/account');
    await sees(page, 'You have no second factor.', expectAccessible);
    await fill(page, { 'Last name': 'Lovelace', Phone: '0664 123', 'Job title': '' });
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Vienna');
    await page.getByRole('option', { name: 'Europe/Vienna' }).click();
    await page.getByRole('combobox', { name: 'Language of e-mails' }).click();
    await page.getByRole('option', { name: 'German' }).click();
    await click(page, 'Save', 'must start with + and the country code', faultyInput(page, 'Phone'));
    await submit(page, { Phone: '+436641234567' }, 'Save', 'Your profile is saved.');
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    const saved = { first_name: 'Ada', last_name: 'Lovelace', phone: '+436641234567', job_title: null };
    expect(await subject.userOf(user_id)).toMatchObject({ ...saved, timezone: 'Europe/Vienna', locale: 'de' });
    await follow(page, 'Show sessions');
    await page.waitForURL(subject.at('/sessions'));
  });

  it('saves with the next click after a change elsewhere, and changes the address by a link (B16)', async () => {
    const { page, name, user_id } = await subject.loginAs({ first_name: 'Ada', job_title: 'Clerk' }, '/account');
    await fill(page, { 'First name': 'Grace', Phone: '0664 123' });
    const theirs = { first_name: 'Augusta', job_title: 'Director' };
    expect((await patch(user_id, theirs)).status).toBe(200);
    await click(page, 'Save', 'must start with + and the country code');
    await fill(page, { Phone: '' });
    // This part of the page reads the user again, but the input began with the version before.
    const address = `new-${name}@example.com`;
    await click(page, 'Change e-mail address');
    const form = dialogOf(page, 'Change e-mail address');
    await fill(form, { 'New e-mail address': address, 'Current password': 'not the right password' });
    await click(form, 'Send the link', 'The current password is wrong.');
    await submit(form, { 'Current password': password }, 'Send the link', `Open the link in the e-mail to ${address}`);
    await click(page, 'Save', 'Your profile was changed elsewhere.');
    expect(await subject.userOf(user_id)).toMatchObject(theirs);
    expect(await page.getByLabel('First name').inputValue()).toBe('Grace');
    expect(await page.getByLabel('Job title').inputValue()).toBe('Director');
    await click(page, 'Save', 'Your profile is saved.');
    expect(await subject.userOf(user_id)).toMatchObject({ first_name: 'Grace', job_title: 'Director' });
    const { token } = await subject.service.mailbox.take(address, /\/auth\/email\//);
    await page.goto(`${subject.url}/auth/email/${token}`);
    await click(page, 'Confirm the address');
    await follow(page, /^Continue to/, userMenu(page));
    expect(await subject.userOf(user_id)).toMatchObject({ email: address, email_pending: null });
  });

  it('says why the service rejects a weak password, and changes the password', async () => {
    const { page, name } = await subject.loginAs({}, '/account');
    await click(page, 'Change password');
    const form = dialogOf(page, 'Change password');
    const send = async (current: string, next: string) => {
      await submit(form, { 'Current password': current, 'New password': next }, 'Change password');
    };
    await send('not the right password', newPassword);
    await sees(form, 'The current password is wrong.');
    await send(password, 'too short');
    await sees(form, 'is too short: use at least 15 characters');
    await send(password, 'P@ssw0rd12345678');
    await sees(form, 'is too easy to guess', 'Add a few uncommon words.', expectAccessible);
    await send(password, newPassword);
    await sees(page, 'Your password is changed.');
    await form.waitFor({ state: 'hidden' });
    await logOut(page);
    await subject.fillLogin(page, name, newPassword);
    await userMenu(page).waitFor();
  });

  it('shows only the password form to users who must change their password', async () => {
    const { name } = await subject.service.createUser({ must_change_password: true });
    const page = await subject.open('/account', { viewport: phone });
    await subject.logInOn(page, name, headingOf(page, 'Choose a new password'));
    expect(await page.getByRole('navigation').count()).toBe(0);
    await expectAccessible(page);
    await submit(page, { 'Current password': password, 'New password': newPassword }, 'Change password');
    await headingOf(page, 'My account').waitFor();
    expect(page.url()).toBe(subject.at('/account'));
  });

  it('opens after an invited user sets a password on the page of the mailed link and logs in', async () => {
    const { name, email } = await subject.service.createUser({ password: undefined, must_change_password: undefined });
    const { token } = await subject.service.mailbox.take(email, /\/auth\/reset\//);
    const page = await subject.open('/login', { viewport: phone });
    await page.goto(`${subject.url}/auth/reset/${token}`);
    await submit(page, { 'New password': newPassword }, 'Set the password');
    await follow(page, /^Continue to/, headingOf(page, 'Log in'));
    await subject.fillLogin(page, name, newPassword);
    await headingOf(page, 'My account').waitFor();
  });

  const savedCodes = (page: Page) => page.getByRole('button', { name: 'I have saved the codes' });
  /** Returns the recovery codes on the page. */
  const codesOn = async (page: Page) => {
    await savedCodes(page).waitFor();
    const codes = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allTextContents();
    expect(codes).toHaveLength(10);
    return codes;
  };
  const codeOf = (secret: string) => TOTP.generate({ secret: Secret.fromBase32(secret.replace(/\s/g, '')) });
  const wrongCodeOf = (secret: string) => (codeOf(secret).startsWith('0') ? '111111' : '000000');
  /** Types the code of an app, which the service accepts even if it was used. */
  async function typeCode(page: Page, secret: string): Promise<void> {
    await forgetSteps(subject.service);
    await fill(page, { 'Code from your authenticator app': codeOf(secret) });
  }
  /** Returns the key that the page shows for an app. */
  const secretOn = async (page: Page) => {
    await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    return (await page.locator('code').textContent()) ?? '';
  };

  it('leads a user who needs a second factor to set one up with the mailed code, and to log in with it', async () => {
    const { name, email } = await subject.service.createUser(required);
    const permissions = ['clipboard-read', 'clipboard-write'];
    const page = await subject.open('/account', { viewport: phone, permissions });
    await subject.logInOn(page, name, headingOf(page, 'Set up a second factor'));
    expect(await page.getByRole('navigation').count()).toBe(0);
    await expectAccessible(page);
    await click(page, 'Authenticator app');
    await click(page, 'Continue');
    await submit(page, { 'Code from the e-mail': '0000 0000' }, 'Continue', 'is wrong or no longer valid');
    const { source } = await subject.service.mailbox.take(email, /^[0-9]{8}\r?$/m);
    const [, ...halves] = /^([0-9]{4})([0-9]{4})\r?$/m.exec(source) ?? [];
    await submit(page, { 'Code from the e-mail': halves.join(' ') }, 'Continue');
    const secret = await secretOn(page);
    await expectAccessible(page);
    await typeCode(page, secret);
    const codes = await codesOn(page);
    await expectAccessible(page);
    await click(page, 'Copy');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(codes.join('\n'));
    const [file] = await Promise.all([page.waitForEvent('download'), click(page, 'Download')]);
    expect(readFileSync(await file.path(), 'utf8')).toContain(codes.join('\n'));
    await savedCodes(page).click();
    await headingOf(page, 'My account').waitFor();
    await logOut(page);
    await subject.fillLogin(page, name);
    const code = page.getByLabel('Code from your authenticator app');
    await sees(page, code, expectAccessible);
    await code.fill(wrongCodeOf(secret));
    await sees(page, 'The code is wrong');
    await forgetSteps(subject.service);
    // Users may paste spaces with the code.
    await code.fill(codeOf(secret).replace(/^.../, '$& '));
    await userMenu(page).waitFor();
  });

  it('asks for the password before an old session adds an authenticator app', async () => {
    const { page, user_id } = await subject.loginAs({}, '/account', { viewport: phone });
    await subject.ageAuthentication(user_id);
    await click(page, 'Add authenticator app');
    const dialog = dialogOf(page, 'Add authenticator app');
    await submit(dialog, { Name: 'Phone' }, 'Continue');
    await sees(page, freshAuthenticationDialog(page).getByLabel('Password', { exact: true }), expectAccessible);
    await proveIdentity(page, 'not the right password');
    await freshAuthenticationDialog(page).getByRole('alert').waitFor();
    await proveIdentity(page);
    const secret = await secretOn(page);
    await fill(dialog, { 'Code from your authenticator app': wrongCodeOf(secret) });
    await sees(dialog, 'is not the current code of the app');
    await typeCode(page, secret);
    await savedCodes(page).click();
    await sees(page, page.getByRole('heading', { name: 'Phone', exact: true }), '10 unused codes left.');
  });

  it('adds, renames and removes a passkey, with a fresh authentication in an old session', async () => {
    const user = await subject.service.loginAs();
    const { secret } = await enrolApp(subject.service, user);
    const page = await subject.open('/account');
    await VirtualDevice.attach(page);
    await subject.fillLogin(page, user.name);
    await typeCode(page, secret);
    await click(page, 'Add passkey');
    await subject.ageAuthentication(user.user_id);
    const dialog = dialogOf(page, 'Add passkey');
    await submit(dialog, { Name: 'Laptop' }, 'Continue', freshAuthenticationDialog(page));
    await typeCode(page, secret);
    await sees(page, 'Laptop is set up.');
    await choose(page, 'Actions for Laptop', 'Rename');
    await page.getByLabel('Name', { exact: true }).fill('Desk');
    await confirm(page, 'Save');
    const desk = page.getByRole('heading', { name: 'Desk', exact: true });
    await desk.waitFor();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await expectAccessible(page);
    await screenshot(page, 'second-factors');
    await choose(page, 'Actions for Desk', 'Remove');
    await subject.ageAuthentication(user.user_id);
    await click(dialogOf(page, 'Remove Desk?'), 'Remove');
    await click(freshAuthenticationDialog(page), 'Use a passkey', 'Desk is removed.');
    await desk.waitFor({ state: 'hidden' });
  });

  it('replaces the recovery codes, and keeps the last factor of a user who must have one', async () => {
    const user = await subject.service.loginAs();
    const { secret, recovery_codes } = await enrolApp(subject.service, user);
    expect((await patch(user.user_id, required)).status).toBe(200);
    const page = await subject.open('/account');
    await subject.fillLogin(page, user.name);
    await typeCode(page, secret);
    await click(page, 'New codes');
    await confirm(page, 'New codes');
    const codes = await codesOn(page);
    expect(codes.filter((code) => recovery_codes.includes(code))).toEqual([]);
    await savedCodes(page).click();
    await choose(page, /^Actions for/, 'Remove');
    await confirm(page, 'Remove', 'You must have a second factor, and this is your only one.');
    await click(page, 'Cancel');
    await logOut(page);
    await subject.fillLogin(page, user.name);
    await click(page, 'Use a recovery code');
    await submit(page, { 'Recovery code': codes[0] ?? '' }, 'Continue', '9 unused codes left.');
  });
});
