import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPerson } from '../tests/e2e/person.ts'
import { registerPlainClient } from '../tests/e2e/plain-client.ts'
import type { ServerAddress } from '../tests/e2e/server-process.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { type Bench, start } from './bench.ts'
import type { ReadyChild } from './child.ts'
import { fillStore } from './store-fill.ts'

/** Ports and data folder of one Drawbridge. */
export type Site = Awaited<ReturnType<typeof createSite>>

/** Differences of a measured server from its defaults. */
export interface SiteOptions {
  /** Settings by variable name without the prefix. */
  settings?: Readonly<Record<string, string>>
  /** Content of files in its folder, by name. */
  files?: Readonly<Record<string, string>>
}

/** A client's credentials after signing in once. */
export type Connected = Awaited<ReturnType<typeof connect>>

/** Settings without limits of calls, which a load would reach. */
export const unlimited = { CALL_LIMIT: 'off', CALLS_AT_ONCE: 'off' }

/** Creates a site with an empty data folder called `name`. */
export async function createSite({ scratch }: Bench, name: string) {
  const directory = join(scratch, name)
  mkdirSync(directory)
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  const appUrl = `http://localhost:${await freePort()}`
  return { directory, port, baseUrl, appUrl, mcpUrl: `${baseUrl}/mcp`, fetch }
}

/** Starts the built server as users run it, except for `options`: SQLite, and its log kept in a file. */
export function startSite(bench: Bench, site: Site, options: SiteOptions = {}): Promise<ReadyChild> {
  const { settings = {}, files = {} } = options
  for (const [name, text] of Object.entries(files)) writeFileSync(join(site.directory, name), text)
  const all = { BASE_URL: site.baseUrl, LISTEN: `127.0.0.1:${site.port}`, APP_URL: site.appUrl, ...settings }
  return start(bench, {
    name: 'Drawbridge',
    script: bench.launcher,
    argv: ['--json'],
    directory: site.directory,
    environment: Object.fromEntries(
      Object.entries(all).map(([name, value]) => [`DRAWBRIDGE_${name}`, value]),
    ),
    logFile: join(site.directory, 'log'),
  })
}

/** Signs a new person in at a running server, with a client of their own. */
export async function connect(site: ServerAddress) {
  const client = await registerPlainClient(site)
  const { access_token: accessToken } = await client.connect(await createPerson(site))
  return { clientId: client.id, accessToken }
}

/** A running Drawbridge and the first connection in its store. */
export type RunningSite = Awaited<ReturnType<typeof startDrawbridge>>

/** Starts Drawbridge and signs in; then with `grants` more grants in its store, if that is not zero. */
export async function startDrawbridge(
  bench: Bench,
  name: string,
  options: SiteOptions & { grants?: number } = {},
) {
  const site = await createSite(bench, name)
  const child = await startSite(bench, site, options)
  const running = { site, port: site.port, connected: await connect(site) }
  if (options.grants === undefined) return { ...child, ...running }
  await child.stop()
  bench.endings.pop()
  bench.say(`filling a store with ${options.grants} grants`)
  fillStore(join(site.directory, '.drawbridge', 'trial.db'), options.grants)
  return { ...(await startSite(bench, site, options)), ...running }
}
