import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { settingsSamples } from '../../support/extension/ui/settings-samples.ts'
import { hostileSamples, viewSamples } from '../../support/extension/ui/view-samples.ts'
import { findViolations, loadAxe } from '../../support/axe.ts'
import { openPopupStage, openSettingsStage, type Stage } from '../../support/browsers/stage.ts'
import type { SharedBrowser } from './shared-browser.ts'
import type { TestBrowser } from '../../support/browsers/test-browser.ts'

const now = 1_790_000_000

/** Leaves no settings. */
export function describeScreens(shared: SharedBrowser): void {
  describe(`every screen in ${shared.kind}`, () => {
    const { kind } = shared
    let browser: TestBrowser

    beforeAll(async () => {
      ;({ browser } = shared.opened())
      await browser.store({ version: 1, profiles: [] })
    })
    afterEach(() => expect(browser.complaints.splice(0)).toEqual([]))

    /** Returns axe's findings in each view. */
    async function wrongIn<View>(
      stage: Stage<View>,
      views: Readonly<Record<string, View>>,
    ): Promise<Record<string, string[]>> {
      const found = await stage.each(views, now, findViolations)
      expect(Object.keys(found)).toEqual(Object.keys(views))
      return Object.fromEntries(Object.entries(found).filter(([, wrong]) => wrong.length > 0))
    }

    /** Returns by how many pixels each view is wider than the page. */
    async function tooWideIn<View>(
      stage: Stage<View>,
      views: Readonly<Record<string, View>>,
      width: number,
    ): Promise<Record<string, number>> {
      await stage.page.setViewport({ width, height: 600 })
      const found = await stage.each(views, now, () => {
        for (const details of document.querySelectorAll('details')) details.open = true
        const boxes = [document.documentElement, ...document.querySelectorAll('main, main > *')]
        return Math.max(...boxes.map((box) => box.scrollWidth - box.clientWidth))
      })
      expect(Object.keys(found)).toEqual(Object.keys(views))
      return Object.fromEntries(Object.entries(found).filter(([, excess]) => excess > 0))
    }

    // The rules are about the markup and its colours, which are the same in every browser.
    if (kind === 'chromium') {
      it.each([
        ['light', 1280, 'all'],
        ['dark', 360, 'look'],
      ] as const)(
        'axe finds nothing wrong in %s colours, in settings of %i pixels',
        async (scheme, width, rules) => {
          const popup = await openPopupStage(browser)
          await browser.prefer(popup.page, scheme)
          await popup.page.setViewport({ width: 360, height: 600 })
          await loadAxe(popup.page, rules)
          expect(await wrongIn(popup, viewSamples(now))).toEqual({})
          await popup.page.close()
          const settings = await openSettingsStage(browser)
          await browser.prefer(settings.page, scheme)
          await settings.page.setViewport({ width, height: 600 })
          await loadAxe(settings.page, rules)
          expect(await wrongIn(settings, settingsSamples)).toEqual({})
          await settings.page.close()
        },
      )
    }

    it('the result of a test is in view when it appears on a low screen', async () => {
      const { page, show } = await openPopupStage(browser)
      await page.setViewport({ width: 360, height: 496 })
      // No driver can make the screen itself low.
      await page.evaluate(() => {
        for (const rule of document.styleSheets[0]?.cssRules ?? []) {
          if (rule instanceof CSSMediaRule && rule.conditionText.includes('device-height'))
            rule.media.mediaText = 'all'
        }
      })
      const { ready, testing, 'test-no-permission': asking } = viewSamples(now)
      for (const view of [ready, testing, asking]) if (view) await show(view, now)
      const [button, edge] = await page.evaluate(() =>
        ['[name=allow-test]', '.court.ready'].map(
          (selector) => document.querySelector(selector)?.getBoundingClientRect().bottom,
        ),
      )
      expect(button).toBeGreaterThan(0)
      expect(button).toBeLessThanOrEqual(Math.min(edge ?? 0, 496))
      await page.close()
    })

    // German, whose words are longer.
    it('nothing is wider than the page, whatever a session says', async () => {
      const popup = await openPopupStage(browser, 'de')
      for (const width of [360, 320]) expect(await tooWideIn(popup, viewSamples(now), width)).toEqual({})
      expect(await tooWideIn(popup, hostileSamples(now), 320)).toEqual({})
      await popup.page.close()
      const settings = await openSettingsStage(browser, 'de')
      for (const width of [1000, 320]) expect(await tooWideIn(settings, settingsSamples, width)).toEqual({})
      await settings.page.close()
    })
  })
}
