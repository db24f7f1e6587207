import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { BridgeConfig } from '../../config/config.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { createMcpProxy } from '../../proxy/proxy.ts'
import { type ProtocolStreams, say } from '../terminal/output.ts'
import { version } from '../../config/version.ts'
import {
  createConnectionLogin,
  isOpenedByItself,
  linkOf,
  openConnectionLog,
  promptText,
} from './connection-login.ts'
import type { DebugLog } from './debug-log.ts'
import { failureContextOf, placeOf, rpcFailure, shellWord } from '../failure/failure-text.ts'
import { memoryOf } from './memory-file.ts'
import { watchProcessEnd } from './process-end.ts'
import { asTyped } from '../terminal/program-name.ts'

/** What a connection is made between. */
interface ConnectPorts {
  streams: ProtocolStreams
  runtime: Runtime
  environment: Readonly<Record<string, string | undefined>>
  platform: NodeJS.Platform
}

/**
 * Carries messages between stdin and the server until stdin ends, a signal comes or the parent is gone. Answers the exit
 * code. Loads nothing that the first message does not need.
 */
export async function connect(config: BridgeConfig, ports: ConnectPorts): Promise<number> {
  const { serverUrl, output } = config
  const failureContext = failureContextOf(config)
  const tell = output.silent ? () => {} : say
  const log = await openConnectionLog(config)
  const note = log?.note ?? ((): void => {})
  const http = createHttpClient(config.network)
  const login = createConnectionLogin(config, {
    http,
    runtime: ports.runtime,
    announce: tell,
    note,
    laterPrompt(prompt) {
      tell(promptText(prompt))
      if (isOpenedByItself(prompt)) void openBrowser(config, linkOf(prompt), ports, tell)
    },
  })
  const proxy = createMcpProxy(config.proxy, {
    ...ports.streams,
    http,
    runtime: ports.runtime,
    tokens: login.tokens,
    ...(login.signIn !== undefined && { signIn: login.signIn }),
    openBrowser(url) {
      if (!login.isShownElsewhere(url)) void openBrowser(config, url, ports, tell)
    },
    memory: memoryOf(config, note),
    describeFailure: (error) => rpcFailure(error, failureContext),
    say: tell,
    note,
  })
  const end = watchProcessEnd((reason) => proxy.stop(reason))
  const faults = surviveFaults(note, tell)
  tell(firstLine(config, login.summary, log))
  if (isTyped(ports.streams)) tell(typedText(serverUrl))
  try {
    return await proxy.run()
  } finally {
    await login.settle()
    http.close()
    end.release()
    faults.release()
  }
}

/** Everything a host may show: what runs, where to, and as whom. */
function firstLine({ serverUrl }: BridgeConfig, login: string, log: DebugLog | undefined): string {
  const where = log === undefined ? '' : `, log in ${log.path}`
  return `drawbridge ${version}: ${new URL(serverUrl).origin}, ${login}${where}`
}

/** Whether a person started the bridge in a terminal, as nothing on the screen would show that it works. */
function isTyped({ input }: ProtocolStreams): boolean {
  return 'isTTY' in input && input.isTTY === true
}

function typedText(serverUrl: string): string {
  const text = `An MCP client speaks here, one JSON-RPC message a line. To put the bridge into a client: drawbridge install <client> ${shellWord(serverUrl)}; to sign in: drawbridge login ${shellWord(serverUrl)}; to end this: Ctrl-C.`
  return asTyped(text)
}

/** The link was said already: only that nothing opens is news. */
async function openBrowser(
  { openBrowser: isWanted, expandedVariables }: BridgeConfig,
  url: string,
  { environment, platform }: ConnectPorts,
  tell: (line: string) => void,
): Promise<void> {
  if (!isWanted) return
  const browser = await import('../terminal/open-browser.ts')
  const outcome = await browser.openBrowser(url, {
    environment,
    platform,
    secretVariables: expandedVariables,
  })
  if (outcome.kind === 'failed') tell(`No browser was opened: ${outcome.reason}. Open the link yourself.`)
}

/** One broken call must not end all others. What was thrown may quote anything, so only its kind and place are told. */
function surviveFaults(note: (text: string) => void, tell: (line: string) => void): { release(): void } {
  let isTold = false
  const onFault = (error: unknown): void => {
    note(`unexpected: ${placeOf(error)}`)
    if (!isTold) tell(`drawbridge: something unexpected happened (${placeOf(error)}). Other calls go on.`)
    isTold = true
  }
  process.on('uncaughtException', onFault)
  process.on('unhandledRejection', onFault)
  return {
    release() {
      process.off('uncaughtException', onFault)
      process.off('unhandledRejection', onFault)
    },
  }
}
