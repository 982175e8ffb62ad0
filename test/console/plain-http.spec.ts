import { expectAccessible, useConsole } from '../support/console';
import { logOut } from '../support/console-page';

describe('the console over plain HTTP, beyond localhost', () => {
  const subject = useConsole({}, false, 'console.test');

  it('says what does not work, and logs in until the next reload', async () => {
    const { name } = await subject.service.createUser();
    const page = await subject.open('/login');
    await page.getByRole('alert').getByText('This connection is not encrypted').waitFor();
    expect(await page.getByRole('button', { name: 'Log in with a passkey' }).count()).toBe(0);
    await expectAccessible(page);
    await subject.fillLogin(page, name);
    await page.getByRole('heading', { name: 'My account' }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await page.reload();
    await page.getByRole('heading', { name: 'Log in', exact: true }).waitFor();
  });

  it('ends the session on the service with the logout, without a cookie', async () => {
    const { name, user_id } = await subject.service.createUser();
    const page = await subject.login(name);
    await logOut(page);
    const live = 'select 1 from sessions where user_id = $1 and ended_at is null';
    expect(await subject.service.rows(live, [user_id])).toEqual([]);
  });
});
