import { afterAll, beforeAll, expect, it } from 'vitest'
import { settingsSamples } from '../support/extension/ui/settings-samples.ts'
import { hostileSamples, viewSamples } from '../support/extension/ui/view-samples.ts'
import { findViolations, loadAxe } from '../support/browsers/axe.ts'
import { describeBrowsers } from '../support/browsers/describe-browsers.ts'
import { launchBrowser } from '../support/browsers/launch-browser.ts'
import { openPopupStage, openSettingsStage, type Stage } from '../support/browsers/stage.ts'
import type { TestBrowser } from '../support/browsers/test-browser.ts'

const now = 1_790_000_000

describeBrowsers('every screen in %s', (kind) => {
  let browser: TestBrowser

  beforeAll(async () => {
    browser = await launchBrowser(kind)
  })
  afterAll(async () => {
    await browser?.close()
    expect(browser.complaints).toEqual([])
  })

  /** Returns axe's findings in each view. */
  async function wrongIn<View>(
    stage: Stage<View>,
    views: Readonly<Record<string, View>>,
  ): Promise<Record<string, string[]>> {
    await loadAxe(stage.page)
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
    const found = await stage.each(
      views,
      now,
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    )
    expect(Object.keys(found)).toEqual(Object.keys(views))
    return Object.fromEntries(Object.entries(found).filter(([, excess]) => excess > 0))
  }

  it.each(['light', 'dark'] as const)(
    'axe finds nothing wrong in the popup in %s colours',
    async (scheme) => {
      const stage = await openPopupStage(browser)
      await stage.page.setViewport({ width: 360, height: 600 })
      await browser.prefer(stage.page, scheme)
      expect(await wrongIn(stage, viewSamples(now))).toEqual({})
      await stage.page.close()
    },
  )

  it.each([
    ['light', 1280],
    ['dark', 360],
  ] as const)('nor in the settings in %s colours, %i pixels wide', async (scheme, width) => {
    const stage = await openSettingsStage(browser)
    await browser.prefer(stage.page, scheme)
    await stage.page.setViewport({ width, height: 600 })
    expect(await wrongIn(stage, settingsSamples)).toEqual({})
    await stage.page.close()
  })

  it('what a test asks for is in view when it appears on a low screen', async () => {
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

  it('nothing is wider than the page, in whichever language and whatever a session says', async () => {
    for (const language of ['en', 'de'] as const) {
      const popup = await openPopupStage(browser, language)
      const settings = await openSettingsStage(browser, language)
      expect(await tooWideIn(popup, viewSamples(now), 360)).toEqual({})
      expect(await tooWideIn(popup, viewSamples(now), 320)).toEqual({})
      expect(await tooWideIn(settings, settingsSamples, 1000)).toEqual({})
      expect(await tooWideIn(settings, settingsSamples, 320)).toEqual({})
      await settings.page.close()
      if (language === 'de') expect(await tooWideIn(popup, hostileSamples(now), 320)).toEqual({})
      await popup.page.close()
    }
  })
})
