import axe from 'axe-core'
import type { Page } from 'puppeteer-core'

/** Returns axe's findings in the current page: a line for each element, by the name of the rule. */
export async function violations(page: Page): Promise<string[]> {
  await loadAxe(page)
  return page.evaluate(findViolations)
}

/** Loads axe into a page for {@link findViolations}. */
export async function loadAxe(page: Page): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
}

/** Runs in the page; see {@link violations}. */
export async function findViolations(): Promise<string[]> {
  const { axe } = globalThis as unknown as {
    axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
  }
  const { violations } = await axe.run({ resultTypes: ['violations'] })
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}

/** Runs in the page: as {@link findViolations}, for the rules alone whose outcome depends on colours or sizes. */
export async function findViolationsOfLook(): Promise<string[]> {
  const { axe } = globalThis as unknown as {
    axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
  }
  const { violations } = await axe.run({
    resultTypes: ['violations'],
    runOnly: ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'],
  })
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}
