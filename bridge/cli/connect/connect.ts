import { shellWord } from '@drawbridge/shared/clients/add-command.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { McpProxy } from '../../proxy/proxy.ts'
import { type ProtocolStreams, say } from '../terminal/output.ts'
import { version } from '../../config/version.ts'
import { linkOf, signInLine } from '../../sign-in/sign-in-attempt.ts'
import { createConnectionLogin, isOpenedByItself, openConnectionLog } from './connection-login.ts'
import type { DebugLog } from './debug-log.ts'
import { failureContextOf, placeOf, rpcFailure } from '../failure/failure-text.ts'
import { memoryOf } from './memory-file.ts'
import { watchProcessEnd } from './process-end.ts'
import { asTyped } from '../terminal/program-name.ts'

interface ConnectPorts {
  streams: ProtocolStreams
  runtime: Runtime
  environment: Readonly<Record<string, string | undefined>>
  platform: NodeJS.Platform
}

/** Carries messages until stdin ends, a signal arrives or the parent is gone. Loads only what the first message needs. */
export async function connect(config: BridgeConfig, ports: ConnectPorts): Promise<number> {
  const { serverUrl } = config
  const failureContext = failureContextOf(config)
  const log = await openConnectionLog(config)
  const note = log?.note ?? ((): void => {})
  const http = createHttpClient(config.network)
  const login = createConnectionLogin(config, {
    http,
    runtime: ports.runtime,
    announce: say,
    note,
    laterPrompt(prompt) {
      say(signInLine(prompt))
      if (isOpenedByItself(prompt) && config.openBrowser) void openBrowser(config, linkOf(prompt), ports)
    },
  })
  const proxy = new McpProxy(config.proxy, {
    ...ports.streams,
    http,
    runtime: ports.runtime,
    login,
    ...(login.signIn !== undefined && { signIn: login.signIn }),
    openBrowser(url) {
      if (config.openBrowser && !login.isShownElsewhere(url)) void openBrowser(config, url, ports)
      return config.openBrowser
    },
    memory: memoryOf(config, note),
    describeFailure: (error) => rpcFailure(error, failureContext),
    say,
    note,
  })
  const stopWatching = watchProcessEnd((reason) => proxy.stop(reason))
  const letFaultsEnd = surviveFaults(note)
  say(firstLine(config, login.summary, log))
  // Typed in a terminal, where otherwise nothing shows that it works.
  if ('isTTY' in ports.streams.input && ports.streams.input.isTTY === true) say(typedText(serverUrl))
  try {
    return await proxy.run()
  } finally {
    await login.settle()
    http.close()
    stopWatching()
    letFaultsEnd()
  }
}

/** Returns the first line on stderr: version, server, login. */
function firstLine({ serverUrl }: BridgeConfig, login: string, log: DebugLog | undefined): string {
  const where = log === undefined ? '' : `, log in ${log.path}`
  return `drawbridge ${version}: ${new URL(serverUrl).origin}, ${login}${where}`
}

function typedText(serverUrl: string): string {
  return asTyped(
    `An MCP client speaks here, one JSON-RPC message a line. To put the bridge into a client: drawbridge install <client> ${shellWord(serverUrl)}; to sign in: drawbridge login ${shellWord(serverUrl)}; to end this: Ctrl-C.`,
  )
}

async function openBrowser(
  { expandedVariables: secretVariables }: BridgeConfig,
  url: string,
  { environment, platform }: ConnectPorts,
): Promise<void> {
  const { openShownLink } = await import('../terminal/open-browser.ts')
  await openShownLink(url, { environment, platform, secretVariables }, say)
}

/** Keeps one broken call from ending all others. Errors may quote secrets, so only their name and place are printed. Returns how to end that. */
function surviveFaults(note: (text: string) => void): () => void {
  let isReported = false
  const onFault = (error: unknown): void => {
    note(`unexpected: ${placeOf(error)}`)
    if (!isReported) say(`drawbridge: something unexpected happened (${placeOf(error)}). Other calls go on.`)
    isReported = true
  }
  process.on('uncaughtException', onFault)
  process.on('unhandledRejection', onFault)
  return () => {
    process.off('uncaughtException', onFault)
    process.off('unhandledRejection', onFault)
  }
}
