import type { Locator, Page } from 'playwright-core';
import { password } from '../service';

type Area = Page | Locator;
type Text = string | RegExp;
/** A text or an element that a page shows, or a check of the page. */
export type Shown = Text | Locator | ((page: Page) => Promise<void>);

const pageOf = (area: Area) => ('page' in area ? area.page() : area);

/** Waits until an area shows texts or elements, and runs checks of its page, in this order. */
export async function sees(area: Area, ...shown: Shown[]): Promise<void> {
  for (const one of shown) {
    if (typeof one === 'function') await one(pageOf(area));
    else if (typeof one === 'string' || one instanceof RegExp) await area.getByText(one).first().waitFor();
    else await one.waitFor();
  }
}

/** Clicks a button, and waits until the page shows texts or elements. */
export async function click(area: Area, name: Text, ...shown: Shown[]): Promise<void> {
  await area.getByRole('button', { name }).click();
  await sees(pageOf(area), ...shown);
}

/** Clicks a button of the open dialog, and waits until the page shows texts or elements. */
export function confirm(page: Page, name: Text, ...shown: Shown[]): Promise<void> {
  return click(page.getByRole('dialog'), name, ...shown);
}

/** Follows a link, and waits until the page shows texts or elements. */
export async function follow(area: Area, name: Text, ...shown: Shown[]): Promise<void> {
  await area.getByRole('link', { name }).click();
  await sees(pageOf(area), ...shown);
}

/** Fills in fields by their labels. */
export async function fill(area: Area, values: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(values)) await area.getByLabel(label).fill(value);
}

/** Fills in fields, clicks a button, and waits until the page shows texts or elements. */
export async function submit(
  area: Area,
  values: Record<string, string>,
  button: Text,
  ...shown: Shown[]
): Promise<void> {
  await fill(area, values);
  await click(area, button, ...shown);
}

/** Opens a menu by its button, and chooses an item. */
export async function choose(page: Page, menu: Text, item: Text): Promise<void> {
  await click(page, menu);
  await page.getByRole('menuitem', { name: item }).click();
}

/** Returns the input with a label. A list of suggestions can have the same label. */
export function inputOf(area: Area, label: string): Locator {
  return area.getByLabel(label, { exact: true }).and(area.locator('input'));
}

/** Returns the input with a label if it is marked as wrong. */
export function faultyInput(area: Area, label: string): Locator {
  return area.getByLabel(label).and(area.locator('input[aria-invalid=true]'));
}

/** Returns the link with a name. */
export function linkOf(area: Area, name: Text): Locator {
  return area.getByRole('link', { name });
}

/** Returns an open dialog. */
export function dialogOf(page: Page, name: Text): Locator {
  return page.getByRole('dialog', { name });
}

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
  await sees(page, 'You are logged out.');
}

/** Switches the language of the console from English to German. */
export async function switchToGerman(page: Page): Promise<void> {
  await userMenu(page).click();
  await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
}

/** Returns the dialog in which a user logs in again after the end of the session. */
export function loginAgainDialog(page: Page): Locator {
  return dialogOf(page, 'Log in again');
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
  return dialogOf(page, 'Confirm your identity');
}

/** Enters the password in the dialog that asks for a fresh authentication. */
export async function proveIdentity(page: Page, secret = password): Promise<void> {
  const dialog = freshAuthenticationDialog(page);
  await dialog.getByLabel('Password', { exact: true }).fill(secret);
  await click(dialog, 'Continue');
}
