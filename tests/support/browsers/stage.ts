import type { Page } from 'puppeteer-core'
import type { PopupView } from '../../../extension/core/popup/popup-view.ts'
import type { SettingsView } from '../../../extension/core/settings/settings-view.ts'
import { buildStage, readMessages } from '../extension/ui/staged-page.ts'
import type { TestBrowser } from './test-browser.ts'

type Language = 'en' | 'de'

/** A page of the production build that shows any given view. */
export interface Stage<View> {
  page: Page
  /** Countdowns are relative to `now`, in epoch seconds. */
  show(view: View, now?: number): Promise<void>
  /** Shows the views one after the other, and returns the results of `look`, which runs in the page, for each. */
  each<Value>(
    views: Readonly<Record<string, View>>,
    now: number,
    look: () => Value | Promise<Value>,
  ): Promise<Record<string, Value>>
}

interface StageWindow {
  show(view: unknown, messages: object, now: number | undefined): void
}

/** Opens the popup for a tab that does not exist, so that only the stage shows anything in it. */
export async function openPopupStage(
  browser: TestBrowser,
  language: Language = 'en',
): Promise<Stage<PopupView>> {
  const page = await browser.openPopupFor({ id: 2_000_000_000 })
  await page.evaluate(() => {
    // The popup's own countdown would draw over the stage.
    for (let timer = Number(setTimeout(() => undefined)); timer > 0; timer--) clearInterval(timer)
    // A page without a view is new, and gets its static texts.
    delete document.body.dataset['view']
    // Only a popup opened as a page has unlimited height.
    document.body.classList.remove('page')
  })
  return createStage(page, 'popup', language)
}

/** Opens the settings page. */
export async function openSettingsStage(
  browser: TestBrowser,
  language: Language = 'en',
): Promise<Stage<SettingsView>> {
  return createStage(await browser.openSettings(), 'settings', language)
}

async function createStage(
  page: Page,
  name: 'popup' | 'settings',
  language: Language,
): Promise<Stage<unknown>> {
  await page.evaluate(await scriptOf(name))
  return stageOn(page, language)
}

/** Returns the stage on a page that has its script already. */
export function stageOn<View>(page: Page, language: Language): Stage<View> {
  const messages = readMessages(language)
  return {
    page,
    async show(view, now) {
      await page.evaluate(
        (view, messages, now) => (globalThis as unknown as StageWindow).show(view, messages, now),
        view as never,
        messages as never,
        now,
      )
    },
    async each(views, now, look) {
      // In one call: a call for each takes several times as long.
      const shown = await page.evaluate(
        `(async (views, messages, now) => {
          const seen = {}
          for (const [name, view] of Object.entries(views)) {
            show(view, messages, now)
            seen[name] = await (${look.toString()})()
          }
          return seen
        })(${[views, messages, now].map((value) => JSON.stringify(value)).join(', ')})`,
      )
      return shown as Record<string, Awaited<ReturnType<typeof look>>>
    },
  }
}

const stages = new Map<string, ReturnType<typeof buildStage>>()

/** Builds the script of a stage once. */
async function scriptOf(name: 'popup' | 'settings'): Promise<string> {
  const built = stages.get(name) ?? buildStage(name)
  stages.set(name, built)
  return (await built).script
}
