// Measures in real browsers how long the popup of the built extension takes to paint, and to show the token.
import { browsersAtHand, launchBrowser } from '../tests/extension/testing/launch-browser.ts'
import { reopen, waitForView } from '../tests/extension/testing/popup-page.ts'
import { startSampleSite } from '../tests/extension/testing/sample-site.ts'
import { sessionSample, setCookies } from '../tests/extension/testing/session-sample.ts'
import type { BrowserKind } from '../tests/extension/testing/test-browser.ts'

const openings = 20

/** Milliseconds since the popup's page began to load. */
interface Opening {
  painted: number
  ready: number
}

async function measure(kind: BrowserKind): Promise<Opening[]> {
  const site = await startSampleSite('app.example')
  const browser = await launchBrowser(kind, { hosts: new Map([['*.app.example', site.port]]) })
  try {
    await browser.grant('*.app.example')
    const cookies = setCookies(sessionSample({ metadata: { about: 'y'.repeat(6000) } }), {
      attributes: 'HttpOnly; Secure',
    })
    site.add('notes.app.example', { setCookies: cookies })
    const tab = await browser.openTab('https://notes.app.example/')
    const popup = await browser.openPopupFor(tab)
    const measured: Opening[] = []
    for (let count = 0; count < openings; count++) {
      await reopen(popup)
      await waitForView(popup, 'ready')
      measured.push(
        await popup.evaluate(() => {
          const at = (name: string): number => performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN
          // The screen with the token marks itself as soon as it is there.
          return { painted: at('first-contentful-paint'), ready: at('ready') }
        }),
      )
    }
    return measured
  } finally {
    await browser.close()
    await site.close()
  }
}

function summary(values: readonly number[]): string {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (part: number): string =>
    (sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN).toFixed(0)
  return `median ${at(0.5).padStart(4)} ms   (${at(0)} to ${at(1)})`
}

for (const kind of browsersAtHand()) {
  const measured = await measure(kind)
  console.log(`${kind}, ${openings} openings of the popup`)
  console.log(`  painted      ${summary(measured.map(({ painted }) => painted))}`)
  console.log(`  token shown  ${summary(measured.map(({ ready }) => ready))}`)
}
