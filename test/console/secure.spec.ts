import { expectAccessible, useConsole } from '../support/console';
import { switchToGerman } from '../support/console-page';
import { enrolApp } from '../support/factors';
import { createKey } from '../support/keys';

describe('securing accounts in the console', () => {
  const subject = useConsole();
  const lists = async (token: string) => (await subject.service.get('/user/list?count=none', { token })).status;

  it('secures an account from the user menu, with the choice of factors and API keys (R40)', async () => {
    const { service } = subject;
    await service.rows(`insert into roles (name, user_types, permissions)
      values ('integrator', '{carrier}', '{key:manage,user:read}')`);
    const user = await service.loginAs({ roles: ['integrator'] });
    const [own, strange] = [await enrolApp(service, user), await enrolApp(service, user)];
    await service.patch(`/auth/factor/${strange.factor_id}`, { token: user.token, body: { name: 'Strange phone' } });
    const { key } = await createKey(service, ['user:read'], { name: 'billing' }, user);
    const page = await subject.login(undefined, `/users/${user.user_id}`);
    await page.getByRole('button', { name: `Actions for ${user.name}` }).click();
    await page.getByRole('menuitem', { name: 'Secure account' }).click();
    const dialog = page.getByRole('dialog', { name: 'Secure the account?' });
    await dialog.getByRole('checkbox', { name: /Remove Strange phone/ }).check();
    await dialog.getByText('billing').waitFor();
    expect(await dialog.getByRole('radio', { name: 'Suspend them until each is resumed' }).isChecked()).toBe(true);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Secure account' }).click();
    await page.getByText(`The account of ${user.name} is secured.`).waitFor();
    const mail = await service.mailbox.take(user.email, /secured/);
    expect((await service.get(`/auth/reset/${mail.token}`)).status).toBe(200);
    const { items } = (await service.get(`/user/${user.user_id}/factor/list`, service.admin)).body;
    expect(items).toMatchObject([{ factor_id: own.factor_id }]);
    expect((await service.get('/user', user)).status).toBe(401);
    expect(await lists(key)).toBe(401);
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByText('Suspended').waitFor();
    await page.getByRole('link', { name: 'billing' }).click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Resume key' }).click();
    await page.getByText('The API key billing works again.').waitFor();
    expect(await lists(key)).toBe(200);
  });

  it('asks in German, and shows no choices that do not apply to the user', async () => {
    const user = await subject.service.createUser();
    const page = await subject.login(undefined, `/users/${user.user_id}`);
    await switchToGerman(page);
    await page.getByRole('button', { name: `Aktionen für ${user.name}` }).click();
    await page.getByRole('menuitem', { name: 'Konto sichern' }).click();
    const dialog = page.getByRole('dialog', { name: 'Konto sichern?' });
    await dialog.getByText('Passwort').first().waitFor();
    expect(await dialog.getByRole('checkbox').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Konto sichern' }).click();
    await page.getByText(`Das Konto von ${user.name} ist gesichert.`).waitFor();
    await subject.service.mailbox.take(user.email, /secured/);
  });

  it('secures the matching users in bulk, and states who keeps factors and that there is no undo (R40)', async () => {
    const { service } = subject;
    const users = [await service.loginAs({ carrier_id: 'stolen' }), await service.loginAs({ carrier_id: 'stolen' })];
    for (const user of users.slice(1)) await enrolApp(service, user);
    const page = await subject.login(undefined, '/users/bulk?carrier_id=stolen');
    await page.getByRole('button', { name: 'Add a field' }).click();
    await page.getByRole('menuitem', { name: 'Secure accounts' }).click();
    expect(await page.getByRole('button', { name: 'Add a field' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    await page.getByText('Keep second factors').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Change 2 users…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('This cannot be undone.').waitFor();
    await dialog.getByLabel('Type 2 to confirm').fill('2');
    await dialog.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByRole('heading', { name: 'Change of 2 users' }).waitFor();
    await page.getByText('Kept second factors').waitFor();
    expect(await page.getByRole('button', { name: 'Undo', exact: true }).count()).toBe(0);
    for (const { email, token } of users) {
      expect((await service.get('/user', { token })).status).toBe(401);
      await service.mailbox.take(email, /secured/);
    }
  });
});
