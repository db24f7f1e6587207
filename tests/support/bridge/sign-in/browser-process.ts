import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

// As `BROWSER`: writes the link into the file that it is given, waits, and follows all redirects. `never` stays open and
// does nothing, as a person who has gone away.

const [log = '', pauseMs = '0', link = ''] = process.argv.slice(2)
appendFileSync(log, `${link}\n`)
await delay(pauseMs === 'never' ? 60_000 : Number(pauseMs))
if (pauseMs !== 'never') await fetch(link)
