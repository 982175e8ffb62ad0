import type { Page } from 'playwright-core';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import { addManyUsers } from '../support/many-users';

describe('bulk changes in the console', () => {
  const subject = useConsole();
  const chooseField = async (page: Page, label: string) => {
    await page.getByRole('button', { name: 'Add a field' }).click();
    await page.getByRole('menuitem', { name: label, exact: true }).click();
  };
  // The list of suggestions has the same label.
  const field = (page: Page, label: string) => page.getByLabel(label, { exact: true }).and(page.locator('input'));
  const preview = (page: Page) => page.getByRole('button', { name: 'Preview', exact: true }).click();
  const figure = (page: Page, name: string) =>
    page
      .locator('dl > div')
      .filter({ has: page.getByText(name, { exact: true }) })
      .locator('dd');
  const confirm = async (page: Page, action: string, count: string, typed = count, effects: string[] = []) => {
    await page.getByRole('button', { name: new RegExp(`^${action} .*…$`) }).click();
    const dialog = page.getByRole('dialog');
    const button = dialog.getByRole('button', { name: action, exact: true });
    expect(await button.isDisabled()).toBe(true);
    for (const effect of effects) await dialog.getByText(effect, { exact: true }).waitFor();
    await dialog.getByLabel(`Type ${count} to confirm`).fill(typed);
    await button.click();
  };
  const valuesOf = (carrier: string, column: string) =>
    subject.service.rows<{ value: string | null; count: number }>(
      `select ${column} as value, count(*)::integer from users where carrier_id = $1 group by 1 order by 1`,
      [carrier],
    );

  it('follows a change of many users to its end, and undoes it', async () => {
    await addManyUsers(subject.service, 10_500, 'many');
    const page = await subject.login(undefined, '/users/bulk?carrier_id=many&order_by=name');
    await page.getByText('Carrier is many').waitFor();
    await chooseField(page, 'Status');
    await chooseField(page, 'Language');
    await field(page, 'Language').fill('de-AT');
    await preview(page);
    await page.getByText('Sample: 20 of 10,500').waitFor();
    await screenshot(page, 'bulk-preview');
    await expectAccessible(page);
    await confirm(page, 'Change', '10500', '10,500', [
      'Carrier is many',
      'Language',
      'de-AT',
      'The users are logged out and cannot log in.',
    ]);
    await page.getByRole('heading', { name: 'Change of 10,500 users' }).waitFor();
    await page.getByText('Done', { exact: true }).waitFor();
    expect(await figure(page, 'Changed').textContent()).toBe('10,500');
    expect(await valuesOf('many', `status || ' ' || locale`)).toEqual([{ value: 'disabled de-AT', count: 10_500 }]);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await page.getByRole('button', { name: 'Restore 10,500 users' }).click();
    await page.getByRole('heading', { name: 'Undo for 10,500 users' }).waitFor();
    await page.getByText('Done', { exact: true }).waitFor();
    expect(await valuesOf('many', 'status')).toEqual([{ value: 'active', count: 10_500 }]);
    await page.getByRole('link', { name: 'Show that operation' }).click();
    await page.getByText('A later operation undoes this one.').waitFor();
    await page.getByRole('link', { name: 'All operations' }).click();
    await page.getByRole('link', { name: 'Undo for 10,500 users' }).waitFor();
    await page
      .getByText(/Language.* · Carrier is many$/)
      .first()
      .waitFor();
    await expectAccessible(page);
  });

  it('shows the progress of a running change, and cancels it', async () => {
    await addManyUsers(subject.service, 40_000, 'running');
    const page = await subject.login(undefined, '/users/bulk?carrier_id=running');
    await chooseField(page, 'Must change the password');
    await preview(page);
    await confirm(page, 'Change', '40000');
    await page.getByText(/per second/).waitFor();
    await page.getByRole('progressbar', { name: 'Progress' }).waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: 'Keep running' }).waitFor();
    await page.getByRole('button', { name: 'Cancel the operation' }).click();
    await page.getByText('Canceled', { exact: true }).waitFor();
    const changed = Number((await figure(page, 'Changed').textContent())?.replaceAll(',', ''));
    expect(changed).toBeGreaterThan(0);
    expect(changed).toBeLessThan(40_000);
    await page.getByRole('button', { name: 'Undo', exact: true }).waitFor();
  });

  it('says who is skipped and why, and deletes the others', async () => {
    const users = [await subject.service.createUser(), await subject.service.createUser()];
    const ids = [...users.map(({ user_id }) => user_id), subject.service.admin.user_id];
    const page = await subject.login(undefined, `/users/bulk?user_id_in=${ids.join(',')}`);
    await page.getByText('3 users selected in the list').waitFor();
    await page.getByText('Delete', { exact: true }).click();
    await preview(page);
    await page.getByText('You cannot do this to your own user.').waitFor();
    expect(await figure(page, 'Will be deleted').textContent()).toBe('2');
    await expectAccessible(page);
    await confirm(page, 'Delete', '2');
    await page.getByText('Done', { exact: true }).waitFor();
    expect(await figure(page, 'Deleted').textContent()).toBe('2');
    await page.getByText('You cannot do this to your own user.').waitFor();
    await expectAccessible(page);
    const list = await subject.service.get(`/user/list?user_id_in=${ids.join(',')}`, {
      token: subject.service.admin.token,
    });
    expect(list.body.items).toHaveLength(1);
  });

  it('shows a new preview if other users match when the change is confirmed', async () => {
    await addManyUsers(subject.service, 3, 'moving');
    const page = await subject.login(undefined, '/users/bulk?carrier_id=moving');
    await chooseField(page, 'Status');
    await preview(page);
    await page.getByText('Sample: 3 of 3').waitFor();
    await subject.service.createUser({ carrier_id: 'moving' });
    await confirm(page, 'Change', '3');
    await page.getByText('The matching users changed in the meantime.').waitFor();
    await page.getByText('Sample: 4 of 4').waitFor();
    expect(await valuesOf('moving', 'status')).toEqual([{ value: 'active', count: 4 }]);
  });

  it('puts a problem at the field that it names', async () => {
    const page = await subject.login(undefined, '/users/bulk?carrier_id=nobody');
    await chooseField(page, 'Time zone');
    await field(page, 'Time zone').fill('Europe/Nowhere');
    await preview(page);
    await field(page, 'Time zone').and(page.locator('[aria-invalid=true]')).waitFor();
    await field(page, 'Time zone').fill('Europe/Vienna');
    await preview(page);
    await page.getByText('No user would change.').waitFor();
  });

  it('shows the search of the list among the conditions', async () => {
    const user = await subject.service.createUser({ first_name: 'Zenobia' });
    await subject.service.createUser();
    const page = await subject.login(undefined, '/users?q=zenobia');
    await page.getByRole('link', { name: 'Change all that match' }).click();
    await page.getByRole('button', { name: 'Search: zenobia', exact: true }).waitFor();
    await chooseField(page, 'Status');
    await preview(page);
    await page.getByText('Sample: 1 of 1').waitFor();
    await confirm(page, 'Change', '1');
    await page.getByText('Done', { exact: true }).waitFor();
    await page.getByText('Search: zenobia').waitFor();
    await page.getByRole('heading', { name: 'Change of 1 user', exact: true }).waitFor();
    expect(await subject.userOf(user.user_id)).toMatchObject({ status: 'disabled' });
  });

  it('previews nothing for a link with an unknown condition instead of all users', async () => {
    const page = await subject.login(undefined, '/users/bulk?carrier=nobody');
    await chooseField(page, 'Status');
    await preview(page);
    await page
      .getByRole('alert')
      .getByText(/^carrier: /)
      .waitFor();
    expect(await page.getByText(/^Sample:/).count()).toBe(0);
  });
});
