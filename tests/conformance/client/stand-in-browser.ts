import { setTimeout as delay } from 'node:timers/promises'

const maxAttempts = 40
const pauseMs = 100

/** Visits every authorization URL that is written into the stream of text it is given, once each. */
export function createStandInBrowser(): (text: string) => void {
  const visited = new Set<string>()
  let tail = ''
  return (text) => {
    tail = (tail + text).slice(-20_000)
    for (const [url] of tail.matchAll(/https?:\/\/\S*[?&]response_type=code\S*(?=\s)/g)) {
      if (visited.has(url)) continue
      visited.add(url)
      void visit(url)
    }
  }
}

/** The authorization server of the suite redirects at once; where that leads may be listening a little late. */
async function visit(url: string): Promise<void> {
  const response = await fetch(url, { redirect: 'manual' }).catch(() => undefined)
  const location = response?.headers.get('location')
  if (!location) return
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    if (await fetch(location, { redirect: 'manual' }).catch(() => undefined)) return
    await delay(pauseMs)
  }
}
