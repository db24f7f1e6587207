import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

// Runs as `BROWSER`: writes the link into the given file, waits, and follows all redirects. `never` stays open and
// does nothing, as if the user had left.

const [log = '', pauseMs = '0', link = ''] = process.argv.slice(2)
appendFileSync(log, `${link}\n`)
await delay(pauseMs === 'never' ? 60_000 : Number(pauseMs))
if (pauseMs !== 'never') await fetch(link)
