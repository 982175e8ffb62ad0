import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { Secret, TOTP } from 'otpauth';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import { freshAuthenticationDialog, logOut, userMenu } from '../support/console-page';
import { enrolApp, forgetSteps } from '../support/factors';
import { phone } from '../support/screens';
import { password } from '../support/service';
import { VirtualDevice } from '../support/virtual-device';

const recoveryCodeCount = 10;

describe('second factors in the console', () => {
  const subject = useConsole();
  const savedCodes = (page: Page) => page.getByRole('button', { name: 'I have saved the codes' });
  const codesOf = (page: Page) => page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem');
  const codeOf = (secret: string) => TOTP.generate({ secret: Secret.fromBase32(secret.replace(/\s/g, '')) });
  /** Types the code of an app, which the service accepts even if it was used. */
  async function typeCode(page: Page, secret: string): Promise<void> {
    await forgetSteps(subject.service);
    await page.getByLabel('Code from your authenticator app').fill(codeOf(secret));
  }

  /** Returns the key that the page shows for the app. */
  const secretOn = async (page: Page) => (await page.locator('code').textContent()) ?? '';

  it('leads a user who needs a second factor to set one up with the mailed code, on a phone', async () => {
    const { name, email } = await subject.service.createUser({ second_factor_required_from: '2020-01-01T00:00:00Z' });
    const page = await subject.open('/account', {
      viewport: phone,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await subject.fillLogin(page, name);
    await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Authenticator app' }).click();
    const next = page.getByRole('button', { name: 'Continue' });
    await next.click();
    const mailCode = page.getByLabel('Code from the e-mail');
    await mailCode.fill('0000 0000');
    await next.click();
    await page.getByText('is wrong or no longer valid').waitFor();
    const { source } = await subject.service.mailbox.take(email, /^[0-9]{8}\r?$/m);
    await mailCode.fill(/^([0-9]{4})([0-9]{4})\r?$/m.exec(source)?.slice(1).join(' ') ?? '');
    await next.click();
    await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    await expectAccessible(page);
    const secret = await secretOn(page);
    await typeCode(page, secret);
    await savedCodes(page).waitFor();
    const codes = await codesOf(page).allTextContents();
    expect(codes).toHaveLength(recoveryCodeCount);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Copy' }).click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(codes.join('\n'));
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(readFileSync(await file.path(), 'utf8')).toContain(codes.join('\n'));
    await savedCodes(page).click();
    await page.getByRole('heading', { name: 'My account' }).waitFor();
    await logOut(page);
    await subject.fillLogin(page, name);
    await typeCode(page, secret);
    await userMenu(page).waitFor();
  });

  it('asks for the password before an old session adds an authenticator app', async () => {
    const { name, user_id } = await subject.service.createUser();
    const page = await subject.login(name, '/account', { viewport: phone });
    await subject.ageAuthentication(user_id);
    await page.getByRole('button', { name: 'Add authenticator app' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add authenticator app' });
    await dialog.getByLabel('Name').fill('Phone');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await freshAuthenticationDialog(page).getByLabel('Password', { exact: true }).waitFor();
    await expectAccessible(page);
    await freshAuthenticationDialog(page).getByLabel('Password', { exact: true }).fill('not the right password');
    await freshAuthenticationDialog(page).getByRole('button', { name: 'Continue' }).click();
    await freshAuthenticationDialog(page).getByRole('alert').waitFor();
    await freshAuthenticationDialog(page).getByLabel('Password', { exact: true }).fill(password);
    await freshAuthenticationDialog(page).getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    const secret = await secretOn(page);
    await dialog.getByLabel('Code from your authenticator app').fill(codeOf(secret) === '000000' ? '111111' : '000000');
    await dialog.getByText('is not the current code of the app').waitFor();
    await typeCode(page, secret);
    await savedCodes(page).click();
    await page.getByRole('heading', { name: 'Phone', exact: true }).waitFor();
    await page.getByText('10 unused codes left.').waitFor();
  });

  it('adds, renames and removes a passkey, with a fresh authentication in an old session', async () => {
    const user = await subject.service.loginAs();
    const { secret } = await enrolApp(subject.service, user);
    const page = await subject.open('/account');
    await VirtualDevice.attach(page);
    await subject.fillLogin(page, user.name);
    await typeCode(page, secret);
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await subject.ageAuthentication(user.user_id);
    const dialog = page.getByRole('dialog', { name: 'Add passkey' });
    await dialog.getByLabel('Name').fill('Laptop');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await freshAuthenticationDialog(page).waitFor();
    await typeCode(page, secret);
    await page.getByText('Laptop is set up.').waitFor();
    await page.getByRole('button', { name: 'Actions for Laptop' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Desk');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Desk', exact: true }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await expectAccessible(page);
    await screenshot(page, 'second-factors');
    await page.getByRole('button', { name: 'Actions for Desk' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await subject.ageAuthentication(user.user_id);
    await page.getByRole('dialog', { name: 'Remove Desk?' }).getByRole('button', { name: 'Remove' }).click();
    await freshAuthenticationDialog(page).getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('Desk is removed.').waitFor();
    await page.getByRole('heading', { name: 'Desk', exact: true }).waitFor({ state: 'hidden' });
  });

  it('replaces the recovery codes, and keeps the last factor of a user who must have one', async () => {
    const user = await subject.service.loginAs();
    const { secret, recovery_codes } = await enrolApp(subject.service, user);
    const { token } = subject.service.admin;
    const body = { second_factor_required_from: '2020-01-01T00:00:00Z' };
    const headers = { 'if-match': '*' };
    expect((await subject.service.patch(`/user/${user.user_id}`, { token, headers, body })).status).toBe(200);
    const page = await subject.open('/account');
    await subject.fillLogin(page, user.name);
    await typeCode(page, secret);
    await page.getByRole('button', { name: 'New codes' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'New codes' }).click();
    await savedCodes(page).waitFor();
    const codes = await codesOf(page).allTextContents();
    expect(codes).toHaveLength(recoveryCodeCount);
    expect(codes.filter((code) => recovery_codes.includes(code))).toEqual([]);
    await savedCodes(page).click();
    await page.getByRole('button', { name: /^Actions for/ }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('You must have a second factor, and this is your only one.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await logOut(page);
    await subject.fillLogin(page, user.name);
    await page.getByRole('button', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').fill(codes[0] ?? '');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('9 unused codes left.').waitFor();
  });
});
