import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

// Runs as `BROWSER`: writes the link into the given file, waits, and follows all redirects.

const [log = '', pauseMs = '0', link = ''] = process.argv.slice(2)
appendFileSync(log, `${link}\n`)
await delay(Number(pauseMs))
await fetch(link)
