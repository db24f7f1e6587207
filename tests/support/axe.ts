import axe from 'axe-core'
import type { Page } from 'puppeteer-core'

/** The rules whose outcome depends on colours or sizes. */
const rulesOfLook = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size']

/** Loads axe into a page for {@link findViolations}: with all rules, or with those about the look alone. */
export async function loadAxe(page: Page, which: 'all' | 'look'): Promise<void> {
  await page.evaluate(axe.source)
  if (which === 'all') return
  const rules = rulesOfLook.map((id) => ({ id, enabled: true }))
  await page.evaluate(`axe.configure(${JSON.stringify({ disableOtherRules: true, rules })})`)
}

/** Runs in the page: returns axe's findings, a line for each element, by the name of the rule. */
export async function findViolations(): Promise<string[]> {
  const { axe } = globalThis as unknown as {
    axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
  }
  const { violations } = await axe.run({ resultTypes: ['violations'], iframes: false, preload: false })
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}
