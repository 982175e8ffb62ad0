import { type AxeResults, source } from 'axe-core';
import type { Page } from 'playwright-core';
import { phone } from './screens';

/** The pages differ only in their colors. */
const rulesOf = [
  ['light', {}],
  ['dark', { runOnly: ['color-contrast', 'link-in-text-block'] }],
] as const;

/**
 * Returns what axe-core finds wrong with a page in light and in dark colors, and whether the page
 * scrolls sideways on a narrow screen. Leaves the page on the narrow screen.
 * @param viewport screen for axe-core; wide screens show lists as tables
 */
export async function faultsOf(page: Page, viewport = phone): Promise<string[]> {
  await page.setViewportSize(viewport);
  const faults: string[] = [];
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(source);
  for (const [colorScheme, rules] of rulesOf) {
    await page.emulateMedia({ colorScheme });
    // The console follows the colors of the system one render later.
    await page.locator(`html:not([data-mantine-color-scheme=${colorScheme === 'light' ? 'dark' : 'light'}])`).waitFor();
    const options = JSON.stringify({ ...rules, resultTypes: ['violations'] });
    const { violations } = await page.evaluate<AxeResults>(`axe.run(${options})`);
    faults.push(...violations.map(({ id, nodes }) => `${colorScheme} ${id}: ${nodes.map(({ html }) => html).join()}`));
  }
  await page.setViewportSize(phone);
  const width = await page.evaluate<number>('document.documentElement.scrollWidth');
  return width > phone.width ? [...faults, `is ${width} px wide`] : faults;
}
