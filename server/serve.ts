import { isLoopbackHostname } from '@drawbridge/shared/redirect-uri.ts'
import { pino } from 'pino'
import { createApp } from './app.ts'
import type { ServerConfig } from './setting.ts'
import { storeName } from './config-value.ts'
import { listen } from './http/listener.ts'
import { createLog, reportTo } from './log.ts'
import { systemRuntime } from './system-runtime.ts'
import { version } from './version.ts'

/** Serves until SIGINT or SIGTERM, then drains. Rejects when the store cannot be used or a port is taken. */
export async function serve(config: ServerConfig, output: { json: boolean }): Promise<void> {
  const destination = pino.destination({ dest: 2, sync: false })
  const log = createLog(config.log, destination)
  const app = createApp(config, systemRuntime, log)
  const listeners = []
  try {
    await app.prepare()
    listeners.push(await listen(app.fetch, config.listen))
    if (app.embedded) {
      const { hostname, port } = new URL(config.appUrl)
      const host = hostname === 'localhost' ? config.listen.host : hostname.replace(/^\[|\]$/g, '')
      listeners.push(await listen(app.embedded.fetch, { host, port: Number(port || 80) }))
    }
  } catch (error) {
    await Promise.all(listeners.map((listener) => listener.close()))
    await app.close()
    throw error
  }
  process.stdout.write(output.json ? `${JSON.stringify(readyFacts(config))}\n` : readyText(config))
  const signal = await stopSignal()
  reportTo(log)('stopping', { signal })
  await Promise.all(listeners.map((listener) => listener.close()))
  await app.close()
  destination.flushSync()
}

function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
}

function readyFacts(config: ServerConfig): Record<string, unknown> {
  const { baseUrl, appUrl, provider, store } = config
  return {
    event: 'ready',
    version,
    mcp_url: `${baseUrl}/mcp`,
    metadata_url: `${baseUrl}/.well-known/oauth-authorization-server`,
    app_url: appUrl,
    provider,
    store: storeName(store),
  }
}

function readyText(config: ServerConfig): string {
  const { baseUrl, appUrl, provider, store } = config
  const forgets = store.kind === 'memory' ? ' everything is forgotten at the end' : ''
  return `Drawbridge ${version} is ready.

  1. Create an account      ${appUrl}
  2. Add to an MCP client   ${baseUrl}/mcp
     and sign in once on the page that it opens.

  Look around    curl -i ${baseUrl}/mcp
                 curl ${baseUrl}/.well-known/oauth-authorization-server
  Kept in        ${storeName(store)}${forgets}
${provider === 'embedded' ? '' : `  Signed in by   ${config.providerUrl}\n`}${listenNote(config)}
${provider === 'embedded' ? trialNote : '  Check it all   drawbridge-server doctor\n'}`
}

const trialNote = `  For trying things out only: the embedded session provider, its stand-in Google and
  the demo web app run in this process, on loopback. NODE_ENV=production refuses them.
`

/** A base URL on this computer whose port is not the one listened on: meant behind a proxy, else a slip. */
function listenNote({ baseUrl, listen }: ServerConfig): string {
  const { hostname, port, protocol } = new URL(baseUrl)
  const basePort = Number(port || (protocol === 'https:' ? 443 : 80))
  if (!isLoopbackHostname(hostname) || basePort === listen.port) return ''
  return `  Note           listening on port ${listen.port}, while BASE_URL says ${basePort}: right behind a proxy,\n                 otherwise set both --listen and --base-url\n`
}
