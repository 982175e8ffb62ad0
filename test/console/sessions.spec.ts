import { expectAccessible, screenshot, useConsole } from '../support/console';
import { logInAgain, loginAgainDialog, rowOf, switchToGerman } from '../support/console-page';
import { desktop, phone } from '../support/screens';
import { loginFrom } from '../support/device-logins';

describe('sessions in the console', () => {
  const subject = useConsole();
  const isActive = async (session_id: string) => {
    const { body } = await subject.service.get(`/auth/session/list?session_id=${session_id}`, {
      token: subject.service.admin.token,
    });
    return body.items[0].active;
  };

  it('shows who is logged in, from where and on what, and ends one session', async () => {
    const { name } = await subject.service.createUser();
    const ended = await loginFrom(subject.service, name, 'phone', '198.51.100.7');
    const kept = await loginFrom(subject.service, name, 'desktop', '203.0.113.20');
    const page = await subject.login();
    await page.getByRole('link', { name: 'Sessions', exact: true }).click();
    const phoneRow = rowOf(page, '198.51.100.7');
    await phoneRow.getByText('Safari 18 on iOS 18').waitFor();
    await rowOf(page, 'This session').waitFor();
    await expectAccessible(page, true);
    await screenshot(page, 'sessions');
    await page.setViewportSize(desktop);
    await phoneRow.getByRole('button', { name: `End session of ${name}` }).click();
    const dialog = page.getByRole('dialog', { name: 'End this session?' });
    await expectAccessible(page);
    let send: () => void = () => undefined;
    const mayContinue = new Promise<void>((resolve) => (send = resolve));
    await page.route('**/auth/session/*', (route) => void mayContinue.then(() => route.continue()));
    await dialog.getByRole('button', { name: 'End session' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).and(page.locator(':disabled')).waitFor();
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    expect(await dialog.isVisible()).toBe(true);
    send();
    await page.getByText('The session was ended.').waitFor();
    await phoneRow.waitFor({ state: 'detached' });
    expect([await isActive(ended), await isActive(kept)]).toEqual([false, true]);
    await page.getByText('Ended', { exact: true }).click();
    await rowOf(page, '198.51.100.7').getByText('Ended by a user').waitFor();
    expect(page.url()).toBe(subject.at('/sessions?state=ended'));
  });

  it('ends all sessions that match the filter after their number was typed, except the current one', async () => {
    const { name, user_id } = await subject.service.createUser();
    const other = await subject.service.loginAs();
    for (const device of ['phone', 'desktop', 'program'] as const)
      await loginFrom(subject.service, name, device, '203.0.113.5');
    const page = await subject.login(undefined, '/sessions');
    await page.getByPlaceholder('Sessions of a user…').fill(name.slice(0, -1));
    await page.getByRole('option', { name: new RegExp(`^${name}`) }).click();
    await page.getByText(`User is ${name}`).waitFor();
    expect(new URL(page.url()).search).toBe(`?user_id=${user_id}`);
    await page.getByRole('button', { name: 'End all that match…' }).click();
    const dialog = page.getByRole('dialog', { name: 'End all sessions that match?' });
    await dialog.getByText('3 live sessions match the filter.').waitFor();
    await dialog.getByText(`User is ${name}`).waitFor();
    await expectAccessible(page);
    const end = dialog.getByRole('button', { name: 'End 3 sessions' });
    await dialog.getByLabel('Type 3 to confirm').fill('2');
    expect(await end.isDisabled()).toBe(true);
    await dialog.getByLabel('Type 3 to confirm').fill('3');
    await end.click();
    await page.getByText('3 sessions were ended.').waitFor();
    await page.getByText('Nothing matches').waitFor();
    expect(await isActive(other.session_id)).toBe(true);
    await page.getByRole('button', { name: 'Clear all' }).click();
    await rowOf(page, 'This session').waitFor();
  });

  it('shows a Carrier User without rights their own sessions, and ends the others', async () => {
    const { name } = await subject.service.createUser();
    const first = await loginFrom(subject.service, name, 'phone', '198.51.100.8');
    const second = await loginFrom(subject.service, name, 'program', '198.51.100.9');
    const other = await subject.service.loginAs();
    const page = await subject.login(name, '/sessions', { viewport: phone });
    await page.getByRole('heading', { name: 'My sessions' }).waitFor();
    const card = page.getByRole('listitem').filter({ hasText: '198.51.100.8' });
    await card.waitFor();
    expect(await page.getByText(other.name).count()).toBe(0);
    await expectAccessible(page);
    await page.setViewportSize(phone);
    await card.getByRole('button', { name: `End session of ${name}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
    await card.waitFor({ state: 'detached' });
    expect([await isActive(first), await isActive(second)]).toEqual([false, true]);
    await page.getByRole('button', { name: 'End all other sessions' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End all other sessions' }).click();
    await page.getByText('1 session was ended.').waitFor();
    expect([await isActive(second), await isActive(other.session_id)]).toEqual([false, true]);
    await page.getByText('This session').waitFor();
  });

  it('keeps page and dialog when the current session is ended elsewhere, and continues after the login', async () => {
    const { name, user_id } = await subject.service.createUser({ user_type: 'system', roles: ['administrator'] });
    const { name: watched } = await subject.service.createUser();
    const session_id = await loginFrom(subject.service, watched, 'desktop', '203.0.113.77');
    const page = await subject.login(name, '/sessions');
    await rowOf(page, '203.0.113.77')
      .getByRole('button', { name: `End session of ${watched}` })
      .click();
    await subject.endSessions(user_id);
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
    await loginAgainDialog(page).waitFor();
    expect(await isActive(session_id)).toBe(true);
    await logInAgain(page);
    await page.getByText('The session was ended.').waitFor();
    expect(await isActive(session_id)).toBe(false);
    expect(page.url()).toBe(subject.at('/sessions'));
  });

  it('switches from all sessions to those of the user, also in German', async () => {
    const page = await subject.login(undefined, '/sessions');
    await page.getByText('Mine', { exact: true }).click();
    await page.getByRole('heading', { name: 'My sessions' }).waitFor();
    await switchToGerman(page);
    await page.getByRole('heading', { name: 'Meine Sitzungen' }).waitFor();
    await page.getByRole('cell', { name: /Diese Sitzung/ }).waitFor();
  });
});
