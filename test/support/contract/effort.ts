import type { Page } from 'playwright-core';

/**
 * Counts clicks and filled fields from now on, as long as the page is not loaded again. A key that
 * presses a button counts as a click.
 */
export async function countEffort(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`
    window.effort = 0;
    for (const type of ['click', 'change'])
      addEventListener(type, ({ isTrusted, target }) => {
        // A label passes its click on to its field.
        if (isTrusted && !(type === 'click' && target.closest('input, textarea, label'))) window.effort++;
      }, true);`);
  return () => page.evaluate<number>('window.effort');
}
