import type { Locator, Page } from 'playwright-core';
import { password } from './service';

/** Returns the heading of a page. */
export function headingOf(page: Page, name: string): Locator {
  return page.getByRole('heading', { level: 1, name, exact: true });
}

/** Returns the row of a table that contains a text. */
export function rowOf(page: Page, text: string): Locator {
  return page.getByRole('row').filter({ hasText: text });
}

/** Returns the button of the user menu, which every page of a logged-in user shows. */
export function userMenu(page: Page): Locator {
  return page.getByRole('button', { name: /^(Menu of|Menü von)/ });
}

/** Logs out and waits for the login page. */
export async function logOut(page: Page): Promise<void> {
  await userMenu(page).click();
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await page.getByText('You are logged out.').waitFor();
}

/** Switches the language of the console from English to German. */
export async function switchToGerman(page: Page): Promise<void> {
  await userMenu(page).click();
  await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
}

/** Returns the dialog in which a user logs in again after the end of the session. */
export function loginAgainDialog(page: Page): Locator {
  return page.getByRole('dialog', { name: 'Log in again' });
}

/** Logs in again in the dialog, which keeps the page below it. */
export async function logInAgain(page: Page): Promise<void> {
  const dialog = loginAgainDialog(page);
  await dialog.getByLabel('Password', { exact: true }).fill(password);
  await dialog.getByRole('button', { name: 'Log in', exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
}

/** Returns the dialog that asks for a fresh authentication. */
export function freshAuthenticationDialog(page: Page): Locator {
  return page.getByRole('dialog', { name: 'Confirm your identity' });
}
