// Measures in real browsers how long the popup of the built extension takes to paint, and to show the token. Beside it in
// the same rounds: a page of the extension with one word in it. What that takes is the browser's and the machine's.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'puppeteer-core'
import { buildFolder, builtExtension } from '../tests/extension/testing/built-extension.ts'
import { waitForPage } from '../tests/extension/testing/extension-page.ts'
import { browsersAtHand, launchBrowser } from '../tests/extension/testing/launch-browser.ts'
import { reopen, waitForView } from '../tests/extension/testing/popup-page.ts'
import { startSampleSite } from '../tests/extension/testing/sample-site.ts'
import { sessionSample, setCookies } from '../tests/extension/testing/session-sample.ts'
import type { BrowserKind } from '../tests/extension/testing/test-browser.ts'

const openings = 20
const blankPage = '<!doctype html><title>Blank</title><body data-ready id="blank">Drawbridge</body>'

/** Milliseconds since the popup's page, or the page with a word, began to load. */
interface Opening {
  blank: number
  painted: number
  ready: number
}

async function measure(kind: BrowserKind, builds: string): Promise<Opening[]> {
  const site = await startSampleSite('app.example')
  const browser = await launchBrowser(kind, { hosts: new Map([['*.app.example', site.port]]), builds })
  try {
    await browser.grant('*.app.example')
    const cookies = setCookies(sessionSample({ metadata: { about: 'y'.repeat(6000) } }), {
      attributes: 'HttpOnly; Secure',
    })
    site.add('notes.app.example', { setCookies: cookies })
    const tab = await browser.openTab('https://notes.app.example/')
    const popup = await browser.openPopupFor(tab)
    const blank = await browser.openPopupFor(tab)
    await blank.evaluate(() => location.replace('blank.html'))
    await waitForPage(blank, '#blank')
    const measured: Opening[] = []
    for (let count = 0; count < openings; count++) {
      await openAgain(blank)
      const blankPainted = await paintedAt(blank)
      await openAgain(popup)
      await waitForView(popup, 'ready')
      // The screen with the token marks itself as soon as it is there.
      const ready = await popup.evaluate(() => performance.getEntriesByName('ready')[0]?.startTime)
      measured.push({ blank: blankPainted, painted: await paintedAt(popup), ready: ready ?? Number.NaN })
    }
    return measured
  } finally {
    await browser.close()
    await site.close()
  }
}

/** In front: what nobody sees is not painted. */
async function openAgain(page: Page): Promise<void> {
  await page.bringToFront()
  await reopen(page)
}

/** When the page had its first content on the screen. */
function paintedAt(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          for (const { startTime } of list.getEntriesByName('first-contentful-paint')) resolve(startTime)
        }).observe({ type: 'paint', buffered: true })
      }),
  )
}

/** The builds with the page of one word in them. */
function withBlankPage(kinds: readonly BrowserKind[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-timing-'))
  cpSync(buildFolder, folder, { recursive: true })
  for (const kind of kinds) writeFileSync(join(builtExtension(kind, folder).folder, 'blank.html'), blankPage)
  return folder
}

function summary(values: readonly number[]): string {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (part: number): string =>
    (sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN).toFixed(0)
  return `median ${at(0.5).padStart(4)} ms   (${at(0)} to ${at(1)})`
}

const kinds = browsersAtHand()
const builds = withBlankPage(kinds)
try {
  for (const kind of kinds) {
    const measured = await measure(kind, builds)
    console.log(`${kind}, ${openings} openings of the popup`)
    console.log(`  painted      ${summary(measured.map(({ painted }) => painted))}`)
    console.log(`  token shown  ${summary(measured.map(({ ready }) => ready))}`)
    console.log(`  a page of one word, painted  ${summary(measured.map(({ blank }) => blank))}`)
  }
} finally {
  rmSync(builds, { recursive: true })
}
