// Measures in real browsers when the popup opened by a click on the toolbar is painted and shows the token. In the
// same rounds, the same click opens a popup of one word, which measures the browser and the machine alone. All times
// count from when the popup's page begins to load; earlier work of the browser is not visible to a page. No driver
// watches the popup meanwhile.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type AreaFigure, atMost, type Figure, figureTable, listed } from '../bench/figure.ts'
import { Rounds } from '../bench/rounds.ts'
import { buildFolder, builtExtension } from '../tests/support/browsers/built-extension.ts'
import { browsersAtHand, launchBrowser } from '../tests/support/browsers/launch-browser.ts'
import { startSampleSite } from '../tests/support/browsers/sample-site.ts'
import { sessionSample, setCookies } from '../tests/support/browsers/session-sample.ts'
import type { BrowserKind, TestBrowser } from '../tests/support/browsers/test-browser.ts'

const openings = 20
const names = ['ours', 'one word'] as const
/**
 * From the click until the paint is reported: an icon that is not pinned first appears from its menu, which takes
 * time.
 */
const openMs = 700
/** Until the popup has closed. */
const closeMs = 300
const oneWord = '<!doctype html><title>Word</title><body data-ready>Drawbridge</body>'

/** `wordBuilds` have a page of one word as the popup. */
async function measure(kind: BrowserKind, wordBuilds: string): Promise<Figure[]> {
  const times = new Rounds()
  const endings: (() => Promise<unknown>)[] = []
  try {
    const site = await startSampleSite('app.example')
    endings.push(() => site.close())
    const session = sessionSample({ metadata: { about: 'y'.repeat(6000) } })
    site.add('notes.app.example', { setCookies: setCookies(session, { attributes: 'HttpOnly; Secure' }) })
    const hosts = new Map([['*.app.example', site.port]])
    const popups: (() => Promise<Opening>)[] = []
    for (const builds of [buildFolder, wordBuilds]) {
      const browser = await launchBrowser(kind, { hosts, builds })
      endings.push(() => browser.close())
      await browser.grant('*.app.example')
      const clickToolbar = await browser.letGo(await browser.openTab('https://notes.app.example/'))
      popups.push(async () => openPopup(await clickToolbar()))
    }
    // The first one fills the browser's caches.
    for (let count = -1; count < openings; count++) {
      for (const [index, open] of popups.entries()) {
        const { painted, ready } = await open()
        if (count < 0) continue
        times.add(names[index] ?? '', painted)
        if (index === 0) times.add('token', ready)
      }
    }
  } finally {
    for (const end of endings.toReversed()) await end()
  }
  return [
    atMost(1.5, 'painted, times one word', times.ratio('ours', 'one word'), 'x'),
    atMost(2, 'token shown, times one word', times.ratio('token', 'one word'), 'x'),
    ...listed(times, 'after loading began', 'ms', ['token', ...names]),
  ]
}

/** Milliseconds since the popup's page began to load. */
interface Opening {
  /** `paintTime` of the first contentful paint: the page has drawn it. */
  painted: number
  /** Infinity without a token. */
  ready: number
}

type Popup = Awaited<ReturnType<Awaited<ReturnType<TestBrowser['letGo']>>>>

/** Waits until an opened popup has been painted and reported it, and closes it. */
async function openPopup(popup: Popup): Promise<Opening> {
  await delay(openMs)
  const { painted, ready } = await popup.read(({ performance }) => {
    const [paint] = performance.getEntriesByName('first-contentful-paint') as PerformancePaintTiming[]
    return {
      painted: paint?.paintTime ?? paint?.startTime,
      // The screen with the token sets this mark when it is complete.
      ready: performance.getEntriesByName('ready').at(-1)?.startTime,
    }
  })
  // The popup closes before it can answer.
  await Promise.race([popup.read((popup) => popup.close()).catch(() => undefined), delay(closeMs)])
  await delay(closeMs)
  if (painted === undefined)
    throw new Error('A popup was not painted in time. Try again when the machine is quiet.')
  return { painted, ready: ready ?? Infinity }
}

/** Copies the builds with another page as the popup. */
function withOneWord(kinds: readonly BrowserKind[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-timing-'))
  cpSync(buildFolder, folder, { recursive: true })
  for (const kind of kinds) writeFileSync(join(builtExtension(kind, folder).folder, 'popup.html'), oneWord)
  return folder
}

const kinds = browsersAtHand()
const builds = withOneWord(kinds)
const figures: AreaFigure[] = []
try {
  for (const kind of kinds) {
    for (const figure of await measure(kind, builds)) figures.push({ ...figure, area: `popup, ${kind}` })
  }
} finally {
  rmSync(builds, { recursive: true })
}
console.log(figureTable(figures))
process.exitCode = figures.every(({ ok }) => ok) ? 0 : 1
