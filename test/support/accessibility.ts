import { type AxeResults, source } from 'axe-core';
import type { Page } from 'playwright-core';

const narrow = { width: 360, height: 740 };

/**
 * Returns what axe-core finds wrong with a page in light and in dark colors, and whether the page
 * scrolls sideways on a narrow screen. Leaves the page on the narrow screen.
 */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.setViewportSize(narrow);
  const faults: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate<AxeResults>(`${source}; axe.run()`);
    faults.push(...violations.map(({ id, nodes }) => `${colorScheme} ${id}: ${nodes.map(({ html }) => html).join()}`));
  }
  const width = await page.evaluate<number>('document.documentElement.scrollWidth');
  return width > narrow.width ? [...faults, `is ${width} px wide`] : faults;
}
