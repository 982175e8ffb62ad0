import { expectAccessible, useConsole } from '../support/console';
import { follow, headingOf, logOut, sees } from '../support/console-page';
import { adminEmail } from '../support/service';

describe('the console below a base path, behind a proxy', () => {
  const subject = useConsole({ BASE_PATH: '/identity' }, true);

  it('logs in and out, opens deep links, and leads from an invalid link to a new one', async () => {
    const page = await subject.open('/account');
    const outside: string[] = [];
    const failed: string[] = [];
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith('/identity/')) outside.push(pathname);
      if (response.status() === 404) failed.push(pathname);
    });
    await subject.logInOn(page, adminEmail, headingOf(page, 'My account'));
    expect(page.url()).toBe(`${subject.url}/console/account`);
    await page.reload();
    await headingOf(page, 'My account').waitFor();
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ path: '/identity/auth', httpOnly: true, sameSite: 'Strict' });
    await subject.goto(page, '/users?status=active');
    await sees(page.getByRole('table'), adminEmail);
    await follow(page, /^My account$/, headingOf(page, 'My account'));
    await logOut(page);
    expect(page.url()).toBe(`${subject.url}/console/login`);
    expect({ outside, failed }).toEqual({ outside: [], failed: [] });
    // The link is no longer valid.
    await page.goto(`${subject.url}/auth/reset/${'x'.repeat(43)}`);
    await follow(page, 'Request a new link');
    await page.waitForURL(subject.at('/forgotten-password'));
    await page.getByRole('button', { name: 'Send the link' }).waitFor();
  });
});

describe('the console over plain HTTP, beyond localhost', () => {
  const subject = useConsole({}, false, 'console.test');

  it('says what does not work, logs in until the next reload, and ends the session at logout', async () => {
    const { name, user_id } = await subject.service.createUser();
    const page = await subject.open('/login');
    await sees(page.getByRole('alert'), 'This connection is not encrypted');
    expect(await page.getByRole('button', { name: 'Log in with a passkey' }).count()).toBe(0);
    await expectAccessible(page);
    await subject.logInOn(page, name, headingOf(page, 'My account'));
    expect(await page.context().cookies()).toEqual([]);
    await logOut(page);
    const live = 'select 1 from sessions where user_id = $1 and ended_at is null';
    expect(await subject.service.rows(live, [user_id])).toEqual([]);
    await subject.logInOn(page, name, headingOf(page, 'My account'));
    await page.reload();
    await headingOf(page, 'Log in').waitFor();
  });
});
