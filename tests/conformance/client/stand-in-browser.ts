import { setTimeout as delay } from 'node:timers/promises'

const maxAttempts = 40
const pauseMs = 100

/** Visits every authorization URL written into the given stream of text, once each. */
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

/** Follows the redirect of the suite's authorization server, whose target may start listening a little late. */
async function visit(url: string): Promise<void> {
  const response = await fetch(url, { redirect: 'manual' }).catch(() => undefined)
  const location = response?.headers.get('location')
  if (!location) return
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    if (await fetch(location, { redirect: 'manual' }).catch(() => undefined)) return
    await delay(pauseMs)
  }
}
