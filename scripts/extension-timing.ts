// Measures in real browsers when the popup opened by a click on the toolbar is painted and shows the token. In the
// same rounds, the same click opens a popup of one word, which measures the browser and the machine alone. All times
// count from when the popup's page begins to load; earlier work of the browser is not visible to a page. No driver
// watches the popup meanwhile. A paint reaches the screen with one of the next frames; the W3C's Paint Timing has
// both times.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { buildFolder, builtExtension } from '../tests/support/browsers/built-extension.ts'
import { browsersAtHand, launchBrowser } from '../tests/support/browsers/launch-browser.ts'
import { startSampleSite, type SampleSite } from '../tests/support/browsers/sample-site.ts'
import { sessionSample, setCookies } from '../tests/support/browsers/session-sample.ts'
import type { BrowserKind, TestBrowser } from '../tests/support/browsers/test-browser.ts'

const openings = 20
/**
 * From the click until the paint is reported: an icon that is not pinned first appears from its menu, which takes
 * time.
 */
const openMs = 700
/** Until the popup has closed. */
const closeMs = 300
const oneWord = '<!doctype html><title>Word</title><body data-ready>Drawbridge</body>'

/** Milliseconds since the popup's page began to load. */
interface Opening {
  /** `paintTime` of the first contentful paint: the page has drawn it. */
  painted: number
  /** `presentationTime` of the same paint: it is on the screen. Infinity in Firefox, which does not report it. */
  presented: number
  /** Infinity without a token. */
  ready: number
}

/** A signed-in browser with the app's tab in front. */
interface Scene {
  browser: TestBrowser
  clickToolbar: Awaited<ReturnType<TestBrowser['letGo']>>
}

async function openScene(kind: BrowserKind, site: SampleSite, builds: string): Promise<Scene> {
  const browser = await launchBrowser(kind, { hosts: new Map([['*.app.example', site.port]]), builds })
  try {
    await browser.grant('*.app.example')
    return { browser, clickToolbar: await browser.letGo(await browser.openTab('https://notes.app.example/')) }
  } catch (error) {
    await browser.close()
    throw error
  }
}

/** `wordBuilds` have a page of one word as the popup. */
async function measure(kind: BrowserKind, wordBuilds: string): Promise<{ ours: Opening[]; word: Opening[] }> {
  const site = await startSampleSite('app.example')
  const session = sessionSample({ metadata: { about: 'y'.repeat(6000) } })
  site.add('notes.app.example', { setCookies: setCookies(session, { attributes: 'HttpOnly; Secure' }) })
  const scenes: Scene[] = []
  try {
    for (const builds of [buildFolder, wordBuilds]) scenes.push(await openScene(kind, site, builds))
    const [popup, popupOfWord] = scenes
    const ours: Opening[] = []
    const word: Opening[] = []
    // The first one fills the browser's caches.
    for (let count = -1; count < openings; count++) {
      const [one, other] = [await openPopup(popup as Scene), await openPopup(popupOfWord as Scene)]
      if (count < 0) continue
      ours.push(one)
      word.push(other)
    }
    return { ours, word }
  } finally {
    for (const { browser } of scenes) await browser.close()
    await site.close()
  }
}

async function openPopup({ clickToolbar }: Scene): Promise<Opening> {
  const popup = await clickToolbar()
  await delay(openMs)
  const opening = await popup.read(({ performance }) => {
    const [paint] = performance.getEntriesByName('first-contentful-paint') as PerformancePaintTiming[]
    return {
      painted: paint?.paintTime ?? paint?.startTime,
      presented: paint?.presentationTime,
      // The screen with the token sets this mark when it is complete.
      ready: performance.getEntriesByName('ready').at(-1)?.startTime,
    }
  })
  // The popup closes before it can answer.
  await Promise.race([popup.read((popup) => popup.close()).catch(() => undefined), delay(closeMs)])
  await delay(closeMs)
  const { painted, presented, ready } = opening
  if (painted === undefined)
    throw new Error('A popup was not painted in time. Try again when the machine is quiet.')
  return { painted, presented: presented ?? Infinity, ready: ready ?? Infinity }
}

/** Copies the builds with another page as the popup. */
function withOneWord(kinds: readonly BrowserKind[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-timing-'))
  cpSync(buildFolder, folder, { recursive: true })
  for (const kind of kinds) writeFileSync(join(builtExtension(kind, folder).folder, 'popup.html'), oneWord)
  return folder
}

/** Prints one line for a figure of all openings; nothing when the browser does not report it. */
function printFigure(name: string, openings: readonly Opening[], of: (opening: Opening) => number): void {
  const sorted = openings.map(of).toSorted((one, other) => one - other)
  const at = (part: number): string =>
    (sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN).toFixed(0)
  if (sorted[0] === Infinity) return
  console.log(`  ${name.padEnd(24)} median ${at(0.5).padStart(4)} ms   (${at(0)} to ${at(1)})`)
}

const kinds = browsersAtHand()
const builds = withOneWord(kinds)
try {
  for (const kind of kinds) {
    const { ours, word } = await measure(kind, builds)
    console.log(`${kind}, ${openings} clicks on the toolbar`)
    for (const [whose, openings] of [
      ['', ours],
      ['one word: ', word],
    ] as const) {
      printFigure(`${whose}painted`, openings, ({ painted }) => painted)
      printFigure(`${whose}on the screen`, openings, ({ presented }) => presented)
      printFigure(`${whose}token shown`, openings, ({ ready }) => ready)
    }
  }
} finally {
  rmSync(builds, { recursive: true })
}
