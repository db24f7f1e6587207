import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settingsSamples } from '../../extension/ui/testing/settings-samples.ts'
import { hostileSamples, viewSamples } from '../../extension/ui/testing/view-samples.ts'
import { violations } from './testing/axe.ts'
import { browsersAtHand, launchBrowser } from './testing/launch-browser.ts'
import { openPopupStage, openSettingsStage, type Stage } from './testing/stage.ts'
import type { TestBrowser } from './testing/test-browser.ts'

const now = 1_790_000_000

describe.each(browsersAtHand())('every screen in %s', (kind) => {
  let browser: TestBrowser

  beforeAll(async () => {
    browser = await launchBrowser(kind)
  })
  afterAll(async () => {
    await browser?.close()
    expect(browser.complaints).toEqual([])
  })

  /** What axe finds wrong in which of the views. */
  async function wrongIn<View>(
    stage: Stage<View>,
    views: Readonly<Record<string, View>>,
  ): Promise<Record<string, string[]>> {
    const found: Record<string, string[]> = {}
    for (const [name, view] of Object.entries(views)) {
      await stage.show(view, now)
      const wrong = await violations(stage.page)
      if (wrong.length > 0) found[name] = wrong
    }
    return found
  }

  /** By how many pixels each view is wider than the page, where it is. */
  async function tooWideIn<View>(
    stage: Stage<View>,
    views: Readonly<Record<string, View>>,
    widths: readonly number[],
  ): Promise<Record<string, number>> {
    const found: Record<string, number> = {}
    for (const width of widths) {
      await stage.page.setViewport({ width, height: 600 })
      for (const [name, view] of Object.entries(views)) {
        await stage.show(view, now)
        const excess = await stage.page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        if (excess > 0) found[`${name} at ${width}`] = excess
      }
    }
    return found
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

  it.each(['light', 'dark'] as const)('nor in the settings in %s colours', async (scheme) => {
    const stage = await openSettingsStage(browser)
    await browser.prefer(stage.page, scheme)
    for (const width of [1280, 360]) {
      await stage.page.setViewport({ width, height: 600 })
      expect(await wrongIn(stage, settingsSamples)).toEqual({})
    }
    await stage.page.close()
  })

  it('nothing is wider than the page, whatever a session says and in whichever language', async () => {
    for (const language of ['en', 'de'] as const) {
      const popup = await openPopupStage(browser, language)
      const views = { ...viewSamples(now), ...hostileSamples(now) }
      expect(await tooWideIn(popup, views, [320, 360])).toEqual({})
      await popup.page.close()
      const settings = await openSettingsStage(browser, language)
      expect(await tooWideIn(settings, settingsSamples, [320, 1000])).toEqual({})
      await settings.page.close()
    }
  })
})
