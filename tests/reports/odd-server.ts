import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as forward,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { visit } from '../support/bridge/oauth/scripted-browser.ts'
import { type BridgeChild, type BridgeOptions, startCommand } from '../support/bridge/process/bridge-child.ts'
import { listenOn } from '../support/bridge/process/socket-server.ts'
import type { CommandOutcome, Stage } from '../support/bridge/process/stage.ts'
import type { Remote, RemoteOptions } from '../support/remote/remote.ts'
import { until } from '../support/until.ts'

/** The head of a response on its way to the client; may be changed. */
export interface Head {
  status: number
  headers: OutgoingHttpHeaders
}

/** What stands in front of an ordinary server, or what the framework below it does to every response. */
export interface Oddities {
  /** Answers the request itself where it returns true; nothing of it has been read yet. */
  answer?(incoming: IncomingMessage, response: ServerResponse): boolean
  /** The path that the server redirects this one to. */
  path?(path: string): string
  /** Changes the head of a response, and returns what its body goes through. */
  change?(head: Head, incoming: IncomingMessage): Duplex | undefined
}

/** Starts an ordinary remote behind these oddities; clients know nothing but the front. */
export async function oddRemote(
  stage: Stage,
  oddities: Oddities,
  options: RemoteOptions = {},
): Promise<Remote> {
  let target = 0
  const front = createServer((incoming, response) => {
    if (oddities.answer?.(incoming, response) === true) return
    const { method, headers, url: path = '/' } = incoming
    const at = { host: '127.0.0.1', port: target, method, headers, path: oddities.path?.(path) ?? path }
    const asked = forward({ ...at, agent: false }, (answer) => {
      const head: Head = { status: answer.statusCode ?? 500, headers: { ...answer.headers } }
      const through = oddities.change?.(head, incoming)
      if (through !== undefined) delete head.headers['content-length']
      response.writeHead(head.status, head.headers)
      response.flushHeaders()
      ;(through === undefined ? answer : answer.pipe(through)).pipe(response)
      answer.on('error', () => response.destroy())
    })
    asked.on('error', () => response.destroy())
    response.on('close', () => asked.destroy())
    incoming.pipe(asked)
  })
  const { port } = await listenOn(stage, front)
  const remote = await stage.remote({ ...options, seenAs: `http://127.0.0.1:${port}` })
  target = remote.port
  return remote
}

const keyInFile = ['--store', 'file']

/** Starts the bridge in front of a server and opens a session as a client of 2025-11-25. */
export async function openBridge(
  stage: Stage,
  url: string,
  options: BridgeOptions = {},
): Promise<{ bridge: BridgeChild; opened: JsonObject }> {
  const bridge = stage.bridge(url, { ...options, flags: [...keyInFile, ...(options.flags ?? [])] })
  const opened = await bridge.initialize()
  return { bridge, opened }
}

/** Runs `drawbridge login`, and goes through the link that it shows, if any, as a browser does. */
export async function login(stage: Stage, url: string, options: BridgeOptions = {}): Promise<CommandOutcome> {
  const words = ['login', url, '--no-open', ...keyInFile, ...(options.flags ?? [])]
  const { kill, stderr, stdout, ended } = startCommand(words, { home: stage.home, ...options })
  let code: number | NodeJS.Signals | undefined
  const over = ended.then((end) => (code = end))
  stage.later(() => (kill(), over))
  const link = (): string | undefined => /https?:\/\/\S*[?&]response_type=code\S*(?=\s)/.exec(stderr())?.[0]
  await until(
    () => link() !== undefined || code !== undefined,
    () => `a link\n${stderr()}`,
  )
  const shown = link()
  if (shown !== undefined) await visit(shown)
  await over
  return { code: typeof code === 'number' ? code : -1, stdout: stdout(), stderr: stderr() }
}

/** A whole sign-in and one call by the bridge; returns the text of the call, which is its argument. */
export async function signInAndCall(stage: Stage, url: string, options: BridgeOptions = {}): Promise<string> {
  const { code, stderr } = await login(stage, url, options)
  if (code !== 0) return `login ended with ${code}: ${stderr}`
  const { bridge } = await openBridge(stage, url, options)
  return bridge.call('echo', { text: 'signed in' })
}
