import { fileURLToPath } from 'node:url'
import type { Page } from 'puppeteer-core'
import { build, type Rolldown } from 'vite'
import type { PopupView } from '../../../extension/core/popup/popup-view.ts'
import type { SettingsView } from '../../../extension/core/settings/settings-view.ts'
import { readMessages } from '../extension/ui/staged-page.ts'
import type { TestBrowser } from './test-browser.ts'

type Language = 'en' | 'de'

/** A page of the production build that shows whatever view it is handed. */
export interface Stage<View> {
  page: Page
  /** `now`, in epoch seconds, is what countdowns are counted from. */
  show(view: View, now?: number): Promise<void>
  /** Shows one view after the other, and answers what `look`, which runs in the page, says of each. */
  each<Value>(
    views: Readonly<Record<string, View>>,
    now: number,
    look: () => Value | Promise<Value>,
  ): Promise<Record<string, Value>>
}

interface StageWindow {
  show(view: unknown, messages: object, now: number | undefined): void
}

/** Opens the popup, for a tab that there is none of, so that nothing but the stage shows anything in it. */
export async function openPopupStage(
  browser: TestBrowser,
  language: Language = 'en',
): Promise<Stage<PopupView>> {
  const page = await browser.openPopupFor({ id: 2_000_000_000 })
  await page.evaluate(() => {
    // The countdown of the popup itself would draw over the stage.
    for (let timer = Number(setTimeout(() => undefined)); timer > 0; timer--) clearInterval(timer)
    // A page without a view is new, and gets the texts that never change.
    delete document.body.dataset['view']
    // A popup that is not a page of its own is not as high as it likes.
    document.body.classList.remove('page')
  })
  return createStage(page, 'popup-stage.ts', language)
}

/** Opens the page of settings. */
export async function openSettingsStage(
  browser: TestBrowser,
  language: Language = 'en',
): Promise<Stage<SettingsView>> {
  return createStage(await browser.openSettings(), 'settings-stage.ts', language)
}

async function createStage(page: Page, script: string, language: Language): Promise<Stage<unknown>> {
  const messages = readMessages(language)
  await page.evaluate(await bundled(script))
  return {
    page,
    async show(view, now) {
      await page.evaluate(
        (view, messages, now) => (globalThis as unknown as StageWindow).show(view, messages, now),
        view,
        messages,
        now,
      )
    },
    async each(views, now, look) {
      // In one go: asking the page for each of them takes several times as long.
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

const bundles = new Map<string, Promise<string>>()

/** The script of a stage as one that can be run anywhere. */
function bundled(script: string): Promise<string> {
  const known = bundles.get(script) ?? bundle(script)
  bundles.set(script, known)
  return known
}

async function bundle(script: string): Promise<string> {
  const entry = fileURLToPath(new URL(`../extension/ui/${script}`, import.meta.url))
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, lib: { entry, formats: ['iife'], name: 'stage' } },
  })
  const [{ output }] = built as [Rolldown.RolldownOutput]
  return output.find((file) => file.type === 'chunk')?.code ?? ''
}
