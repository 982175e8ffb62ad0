import type { Page } from 'playwright-core';
import { strengthLimits } from '../../src/auth/passwords/policy/password-strength';
import { expectAccessible, useConsole } from '../support/console';
import { logOut, userMenu } from '../support/console-page';
import { phone } from '../support/screens';
import { password } from '../support/service';

const newPassword = 'violet kettle marches over 9 hills';

// A check on a busy machine must not be skipped.
Object.assign(strengthLimits, { checkMs: 60_000, loadMs: 60_000, patienceMs: 60_000 });

describe('the account page of the console', () => {
  const subject = useConsole();
  const dialog = (page: Page, name: string) => page.getByRole('dialog', { name });

  it('shows the account of the user, on a phone too', async () => {
    const page = await subject.login(undefined, '/account');
    await page.getByText('You have no second factor.').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Show sessions' }).click();
    await page.waitForURL(subject.at('/sessions'));
  });

  it('saves changed fields of the profile, and shows a fault at its field', async () => {
    const { name, user_id } = await subject.service.createUser({ first_name: 'Ada', job_title: 'Clerk' });
    const page = await subject.login(name, '/account');
    const save = page.getByRole('button', { name: 'Save' });
    await page.getByLabel('Last name').fill('Lovelace');
    await page.getByLabel('Phone').fill('0664 123');
    await page.getByLabel('Job title').fill('');
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Vienna');
    await page.getByRole('option', { name: 'Europe/Vienna' }).click();
    await page.getByRole('combobox', { name: 'Language of e-mails' }).click();
    await page.getByRole('option', { name: 'German' }).click();
    await save.click();
    await page.getByText('must start with + and the country code').waitFor();
    expect(await page.getByLabel('Phone').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Phone').fill('+436641234567');
    await save.click();
    await page.getByText('Your profile is saved.').waitFor();
    expect(await save.isDisabled()).toBe(true);
    expect(await subject.userOf(user_id)).toMatchObject({
      first_name: 'Ada',
      last_name: 'Lovelace',
      phone: '+436641234567',
      job_title: null,
      timezone: 'Europe/Vienna',
      locale: 'de',
    });
  });

  it('keeps the input when the profile was changed elsewhere, and saves it with the next click', async () => {
    const { name, user_id } = await subject.service.createUser();
    const page = await subject.login(name, '/account');
    await page.getByLabel('First name').fill('Grace');
    const { token } = subject.service.admin;
    const { version } = await subject.userOf(user_id);
    const headers = { 'if-match': `"${version}"` };
    await subject.service.patch(`/user/${user_id}`, { token, headers, body: { last_name: 'Hopper' } });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your profile was changed elsewhere.').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your profile is saved.').waitFor();
    expect(await subject.userOf(user_id)).toMatchObject({ first_name: 'Grace', last_name: 'Hopper' });
  });

  it('sends the version that the input began with, although the page has read a newer one (B16)', async () => {
    const { name, user_id } = await subject.service.createUser({ first_name: 'Ada', job_title: 'Clerk' });
    const page = await subject.login(name, '/account');
    await page.getByLabel('First name').fill('Grace');
    await page.getByLabel('Phone').fill('0664 123');
    const { token } = subject.service.admin;
    const theirs = { first_name: 'Augusta', job_title: 'Director' };
    expect((await subject.service.patch(`/user/${user_id}`, { token, body: theirs })).status).toBe(200);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must start with + and the country code').waitFor();
    await page.getByLabel('Phone').fill('');
    // Another part of the page reads the user again.
    await page.getByRole('button', { name: 'Change e-mail address' }).click();
    const form = dialog(page, 'Change e-mail address');
    await form.getByLabel('New e-mail address').fill(`new-${name}@example.com`);
    await form.getByLabel('Current password').fill(password);
    await form.getByRole('button', { name: 'Send the link' }).click();
    await page.getByText('Open the link in the e-mail').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your profile was changed elsewhere.').waitFor();
    expect(await subject.userOf(user_id)).toMatchObject(theirs);
    expect(await page.getByLabel('First name').inputValue()).toBe('Grace');
    expect(await page.getByLabel('Job title').inputValue()).toBe('Director');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your profile is saved.').waitFor();
    expect(await subject.userOf(user_id)).toMatchObject({ first_name: 'Grace', job_title: 'Director' });
  });

  it('changes the address after the link in the mail is confirmed', async () => {
    const { name, user_id } = await subject.service.createUser();
    const address = `new-${name}@example.com`;
    const page = await subject.login(name, '/account');
    await page.getByRole('button', { name: 'Change e-mail address' }).click();
    const form = dialog(page, 'Change e-mail address');
    await form.getByLabel('New e-mail address').fill(address);
    await form.getByLabel('Current password').fill('not the right password');
    await form.getByRole('button', { name: 'Send the link' }).click();
    await form.getByText('The current password is wrong.').waitFor();
    await form.getByLabel('Current password').fill(password);
    await form.getByRole('button', { name: 'Send the link' }).click();
    await page.getByText(`Open the link in the e-mail to ${address}`).waitFor();
    const { token } = await subject.service.mailbox.take(address, /\/auth\/email\//);
    await page.goto(`${subject.url}/auth/email/${token}`);
    await page.getByRole('button', { name: 'Confirm the address' }).click();
    await page.getByRole('link', { name: /^Continue to/ }).click();
    await userMenu(page).waitFor();
    expect(await subject.userOf(user_id)).toMatchObject({ email: address, email_pending: null });
  });

  it('says why the service rejects a weak password, and changes the password', async () => {
    const { name } = await subject.service.createUser();
    const page = await subject.login(name, '/account');
    await page.getByRole('button', { name: 'Change password' }).click();
    const form = dialog(page, 'Change password');
    const send = async (current: string, next: string) => {
      await form.getByLabel('Current password').fill(current);
      await form.getByLabel('New password').fill(next);
      await form.getByRole('button', { name: 'Change password' }).click();
    };
    await send('not the right password', newPassword);
    await form.getByText('The current password is wrong.').waitFor();
    await send(password, 'too short');
    await form.getByText('is too short: use at least 15 characters').waitFor();
    await send(password, 'P@ssw0rd12345678');
    await form.getByText('is too easy to guess').waitFor();
    await form.getByText('Add a few uncommon words.').waitFor();
    await expectAccessible(page);
    await send(password, newPassword);
    await page.getByText('Your password is changed.').waitFor();
    await form.waitFor({ state: 'hidden' });
    await logOut(page);
    await subject.fillLogin(page, name, newPassword);
    await userMenu(page).waitFor();
  });

  it('shows only the password form to users who must change their password', async () => {
    const { name } = await subject.service.createUser({ must_change_password: true });
    const page = await subject.open('/account', { viewport: phone });
    await subject.fillLogin(page, name);
    await page.getByRole('heading', { name: 'Choose a new password' }).waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
    await expectAccessible(page);
    await page.getByLabel('Current password').fill(password);
    await page.getByLabel('New password').fill(newPassword);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByRole('heading', { name: 'My account' }).waitFor();
    expect(page.url()).toBe(subject.at('/account'));
  });

  it('lets an invited user set a password on the page of the link, and log in', async () => {
    const { name, email } = await subject.service.createUser({ password: undefined, must_change_password: undefined });
    const { token } = await subject.service.mailbox.take(email, /\/auth\/reset\//);
    const page = await subject.open('/login', { viewport: phone });
    await page.goto(`${subject.url}/auth/reset/${token}`);
    await page.getByLabel('New password').fill(newPassword);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('link', { name: /^Continue to/ }).click();
    await page.getByRole('heading', { name: 'Log in', exact: true }).waitFor();
    await subject.fillLogin(page, name, newPassword);
    await page.getByRole('heading', { name: 'My account' }).waitFor();
  });
});
