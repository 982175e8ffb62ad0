import { useConsole } from '../support/console';

describe('a new user in the console', () => {
  const subject = useConsole();

  it('is created once when the response is lost and the form is sent again (F12)', async () => {
    const page = await subject.login(undefined, '/users');
    const keys: (string | undefined)[] = [];
    const bodies: (string | null)[] = [];
    let lost = 1;
    await page.route('**/user/create', async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      bodies.push(route.request().postData());
      const response = await route.fetch();
      if (response.status() === 201 && lost-- > 0) await route.abort();
      else await route.fulfill({ response });
    });
    await page.getByRole('button', { name: 'New user' }).click();
    const dialog = page.getByRole('dialog', { name: 'New user' });
    const send = dialog.getByRole('button', { name: 'Create and invite' });
    await dialog.getByLabel('User name').fill('a b');
    await dialog.getByLabel('E-mail address').fill('joan@example.com');
    await dialog.getByLabel('Carrier', { exact: true }).fill('c1');
    await send.click();
    await dialog.getByRole('textbox', { name: 'User name' }).and(page.locator('[aria-invalid=true]')).waitFor();
    await dialog.getByLabel('User name').fill('joan');
    await send.click();
    await dialog.getByText('The service cannot be reached').waitFor();
    await send.click();
    await page.getByRole('heading', { name: 'joan', level: 1 }).waitFor();
    expect(keys).toEqual([expect.stringMatching(/^\w{16,}$/), keys[1], keys[1]]);
    expect(keys[1]).not.toBe(keys[0]);
    expect(bodies[2]).toBe(bodies[1]);
    const { body } = await subject.service.get('/user/list?name=joan&count=exact', subject.service.admin);
    expect(body.total).toEqual({ value: 1, relation: 'eq' });
  });
});
