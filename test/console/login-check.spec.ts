import type { Page } from 'playwright-core';
import { expectAccessible, screenshot, useConsole } from '../support/console/console';
import { click, dialogOf, fill, follow, headingOf, sees, switchToGerman } from '../support/console/console-page';
import { countEffort } from '../support/contract/effort';
import { phone } from '../support/console/screens';
import { until } from '../support/until';

describe('the login check in the console', () => {
  const subject = useConsole({ LOCKOUT_THRESHOLD: '2', LOCKOUT_FIRST_SECONDS: '600' });
  const failTimes = async (times: number, login: string) => {
    const body = { login, password: 'not the right password' };
    for (let time = 0; time < times; time++) await subject.service.post('/auth/login', { body });
  };
  /** Opens the list as the search for a user leaves it. */
  const search = async (name: string): Promise<[page: Page, effort: () => Promise<number>]> => {
    const page = await subject.login(undefined, `/users?q=${name}`);
    await sees(page, name);
    return [page, await countEffort(page)];
  };
  const checkTitle = (page: Page, name: string) => page.getByRole('heading', { name });

  it('shows the cause of a locked account and unlocks it, in 2 clicks after the search', async () => {
    const { name } = await subject.service.createUser();
    await failTimes(2, name);
    const [page, effort] = await search(name);
    await follow(page, name, 'The account is locked', expectAccessible);
    await click(page, 'Unlock', `${name} is unlocked.`);
    await page.getByText('The account is locked').waitFor({ state: 'detached' });
    expect(await effort()).toBe(2);
    await subject.service.login(name);
  });

  it('shows who disabled a user and when, in 1 click after the search', async () => {
    const { service } = subject;
    const colleague = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const { user_id, name } = await service.createUser();
    await service.patch(`/user/${user_id}`, { token: colleague.token, body: { status: 'disabled' } });
    const [page, effort] = await search(name);
    await follow(page, name, 'The user is disabled', /Disabled just now/, expectAccessible);
    await page.getByRole('link', { name: colleague.name }).waitFor();
    expect(await effort()).toBe(1);
    await follow(page, colleague.name, headingOf(page, colleague.name));
  });

  it('shows the response of the mail server, corrects the address and sends again, in 4 steps', async () => {
    const { service } = subject;
    service.mailbox.unknown.add('wrong@example.com');
    const { user_id, name } = await service.inviteUser({ email: 'wrong@example.com' });
    const check = () => service.get(`/user/${user_id}/login-check`, service.admin);
    await until(async () => (await check()).body.mails[0]?.last_error !== undefined);
    const [page, effort] = await search(name);
    await follow(page, name, /The last e-mail was not delivered: 550 no mailbox of/, expectAccessible);
    await click(page, 'Correct the address', dialogOf(page, 'Correct the address'), expectAccessible);
    await fill(page.getByRole('dialog'), { 'E-mail address': 'right@example.com' });
    await click(page.getByRole('dialog'), 'Save and send', 'An invitation is on its way to right@example.com.');
    expect(await effort()).toBe(4);
    const { token } = await service.mailbox.take('right@example.com');
    expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
  });

  it('explains each cause with evidence, mails and refusals, also in German on a phone', async () => {
    const { service } = subject;
    const { user_id, name } = await service.createUser({ allowed_ips: ['192.0.2.0/24'], must_change_password: true });
    await service.login(name).catch(() => undefined);
    await failTimes(2, name);
    const page = await subject.login(undefined, `/users/${user_id}?tab=login`);
    await sees(page, checkTitle(page, 'The user cannot log in'), checkTitle(page, 'The account is locked'));
    await sees(page, checkTitle(page, 'The password must be changed'), 'Wrong password', 'Address not allowed');
    await expectAccessible(page);
    await screenshot(page, 'user-login-check');
    await switchToGerman(page);
    await sees(page, 'Der Benutzer kann sich nicht anmelden', '2 falsche Passwörter in Folge', expectAccessible);
    await page.setViewportSize(phone);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(phone.width);
    await click(page, '127.0.0.1 erlauben', 'Der Benutzer darf sich jetzt auch von 127.0.0.1 anmelden.');
    await click(page, 'Entsperren', checkTitle(page, 'Der Benutzer kann sich mit einer Einschränkung anmelden'));
    await service.login(name);
  });

  it('says that nothing prevents a login only if the service says so, and hides what needs permissions', async () => {
    const { service } = subject;
    await service.rows(`insert into roles (name, user_types, permissions)
      values ('support', '{system}', '{user:read,user:update}')`);
    const { user_id, name, email } = await service.createUser();
    const path = `/users/${user_id}?tab=login`;
    const { page } = await subject.loginAs({ user_type: 'system', roles: ['support'] }, path);
    await sees(page, checkTitle(page, 'Nothing prevents this login'), expectAccessible);
    for (const title of ['Last e-mails', 'Last rejected logins']) expect(await page.getByText(title).count()).toBe(0);
    await click(page, 'Send a password link');
    await service.mailbox.take(email);
    await failTimes(2, name);
    await page.route('**/login-check', (route) => route.abort());
    await page.reload();
    await sees(page, 'The service cannot be reached');
    expect(await page.getByText('Nothing prevents this login').count()).toBe(0);
    await page.unroute('**/login-check');
    await click(page, 'Try again', checkTitle(page, 'The account is locked'));
  });
});
