import { expectAccessible, useConsole } from '../support/console';
import { logOut } from '../support/console-page';

describe('the console below a base path, behind a proxy', () => {
  const subject = useConsole({ BASE_PATH: '/identity' }, true);

  it('logs in, keeps the login over a reload, and opens deep links', async () => {
    const page = await subject.login(undefined, '/account');
    expect(page.url()).toBe(`${subject.url}/console/account`);
    await page.reload();
    await page.getByRole('heading', { name: 'My account' }).waitFor();
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ path: '/identity/auth', httpOnly: true, sameSite: 'Strict' });
    await page.goto(subject.at('/users?status=active'));
    await page.getByRole('table').getByText('admin@example.com').waitFor();
    await expectAccessible(page);
  });

  it('leads from a link that is no longer valid to the request for a new one', async () => {
    const page = await subject.open('/login');
    await page.goto(`${subject.url}/auth/reset/${'x'.repeat(43)}`);
    await page.getByRole('link', { name: 'Request a new link' }).click();
    await page.waitForURL(subject.at('/forgotten-password'));
    await page.getByRole('button', { name: 'Send the link' }).waitFor();
  });

  it('loads every asset and calls every route below the base path', async () => {
    const page = await subject.open('/login');
    const outside: string[] = [];
    const failed: string[] = [];
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith('/identity/')) outside.push(pathname);
      if (response.status() === 404) failed.push(pathname);
    });
    await subject.fillLogin(page, 'admin@example.com');
    for (const name of ['Users', 'My account']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }
    await logOut(page);
    expect(page.url()).toBe(`${subject.url}/console/login`);
    expect({ outside, failed }).toEqual({ outside: [], failed: [] });
  });
});
