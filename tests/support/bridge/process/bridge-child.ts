import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { underLoad } from '../../under-load.ts'

/** Script that starts the built bridge. */
export const bridgeLauncher = fileURLToPath(new URL('../../../../bridge/launcher.cjs', import.meta.url))

const bundle = fileURLToPath(new URL('../../../../bridge/dist/main.mjs', import.meta.url))

/** Start options of a bridge, in addition to its URL. */
export interface BridgeOptions {
  flags?: readonly string[]
  environment?: Readonly<Record<string, string>>
  /** Home folder of its user. */
  home?: string
  /** The Node that runs it; by default the current one. */
  node?: string
  launcher?: string
  /** Allows it to open a browser. */
  opens?: boolean
}

/** How a process exited. */
export interface ProcessEnd {
  code: number | null
  signal: NodeJS.Signals | null
  /** By the clock of `performance.now()`. */
  at: number
}

/** A built bridge and its line-by-line client. */
export interface BridgeChild {
  child: ChildProcess
  /** All messages received, in order. */
  messages: readonly JsonObject[]
  /** Lines on stdout that are not JSON. */
  strayLines: readonly string[]
  stderr(): string
  /** Sends text unchanged, with a line end. */
  write(message: JsonObject | string): void
  /** Sends a request and resolves with the whole response. */
  ask(method: string, params?: JsonObject, id?: number | string): Promise<JsonObject>
  /** Calls a tool; returns the text of its result, or the failure. */
  call(name: string, args?: JsonObject, id?: number | string): Promise<string>
  /** Returns the first matching message, including past ones. Rejects after a while. */
  find(fits: (message: JsonObject) => boolean): Promise<JsonObject>
  /** Opens a session as a client of 2025-11-25 does. */
  initialize(capabilities?: JsonObject, protocolVersion?: string): Promise<JsonObject>
  /** Makes every later request of `ask` and `call` claim 2026-07-28. */
  speakModern(capabilities?: JsonObject): void
  /** Answers later requests of the server with these results; undefined for no answer. */
  answerWith(resultOf: ResultOf): void
  endInput(): void
  kill(signal: NodeJS.Signals): void
  over: Promise<ProcessEnd>
  /** Closes stdin and waits for the end, after some seconds by force. */
  close(): Promise<void>
}

type ResultOf = (method: string, params: JsonObject) => JsonObject | undefined

const endGraceMs = 3000

/** Starts `drawbridge <url>`. */
export function startBridgeChild(url: string, options: BridgeOptions): BridgeChild {
  const { launcher = bridgeLauncher, node = process.execPath, flags = [] } = options
  if (launcher === bridgeLauncher && !existsSync(bundle)) {
    throw new Error('There is no built bridge. Run npm run build first.')
  }
  const words = [launcher, url, ...(options.opens === true ? [] : ['--no-open']), ...flags]
  const child = spawn(node, words, { env: environmentOf(options), stdio: ['pipe', 'pipe', 'pipe'] })
  return talkTo(child)
}

/** A running command of the bridge. */
export interface CommandProcess {
  stdout(): string
  stderr(): string
  /** Returns the exit code, or the signal that killed it. */
  readonly ended: Promise<number | NodeJS.Signals>
  kill(signal?: NodeJS.Signals): void
}

/** Runs `drawbridge` with these arguments. Its stdin is empty. */
export function startCommand(words: readonly string[], options: BridgeOptions): CommandProcess {
  const { node = process.execPath, launcher = bridgeLauncher } = options
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const child = spawn(node, [launcher, ...words], { env: environmentOf(options), stdio: [...stdio] })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    ended: new Promise((resolve) => {
      child.once('close', (code, signal) => resolve(code ?? signal ?? 'SIGKILL'))
    }),
    kill: (signal = 'SIGKILL') => void child.kill(signal),
  }
}

/** Returns a clean environment. */
export function environmentOf({ environment, home }: BridgeOptions): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: home ?? '/nonexistent', ...environment }
}

/** Returns a client at the stdio of any process. */
export function talkTo(child: ReturnType<typeof spawn>): BridgeChild {
  const { stdin, stdout, stderr: errors } = child
  if (stdin === null || stdout === null || errors === null) throw new Error('A bridge without pipes.')
  const messages: JsonObject[] = []
  const strayLines: string[] = []
  const waiting = new Set<() => void>()
  let resultOf: ResultOf = () => undefined
  let claims: JsonObject | undefined
  let stderr = ''
  let rest: Buffer[] = []
  let lastId = 0

  // A bridge that has exited accepts no more lines.
  stdin.on('error', () => {})
  errors.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
    for (const look of waiting) look()
  })
  stdout.on('data', (chunk: Buffer) => {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      take(Buffer.concat([...rest, chunk.subarray(start, end)]).toString())
      rest = []
      start = end + 1
    }
    rest.push(chunk.subarray(start))
    for (const look of waiting) look()
  })

  function take(line: string): void {
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      strayLines.push(line)
      return
    }
    if (!isJsonObject(message)) return void strayLines.push(line)
    messages.push(message)
    const { id, method, params } = message
    if (id === undefined || typeof method !== 'string') return
    const result = resultOf(method, isJsonObject(params) ? params : {})
    if (result !== undefined) write({ jsonrpc: '2.0', id, result })
  }

  function write(message: JsonObject | string): void {
    stdin?.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
  }

  const over = new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal, at: performance.now() }))
  })
  let isOver = false
  // Nothing more comes from stdout after this.
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => {
      isOver = true
      for (const look of waiting) look()
      resolve()
    })
  })

  function find(fits: (message: JsonObject) => boolean): Promise<JsonObject> {
    const found = new Promise<JsonObject>((resolve, reject) => {
      let seen = 0
      const give = (error: Error): void => {
        waiting.delete(look)
        clearTimeout(timer)
        reject(error)
      }
      const why = (what: string): Error =>
        new Error(`${what}\nLast: ${messages.slice(-3).map(shortly).join('\n')}\nstderr: ${stderr}`)
      const timer = setTimeout(() => give(why('What was waited for never came.')), underLoad(12_500))
      function look(): void {
        for (; seen < messages.length; seen += 1) {
          const message = messages[seen]
          if (message === undefined || !fits(message)) continue
          waiting.delete(look)
          clearTimeout(timer)
          return resolve(message)
        }
        return isOver ? give(why('The bridge ended.')) : undefined
      }
      waiting.add(look)
      look()
    })
    // Not every caller waits for messages of a bridge that is stopped on purpose.
    found.catch(() => {})
    return found
  }

  function ask(
    method: string,
    params?: JsonObject,
    id: number | string = (lastId += 1),
  ): Promise<JsonObject> {
    const given = { ...(isJsonObject(params?.['_meta']) && params['_meta']), ...claims }
    const all = claims === undefined ? params : { ...params, _meta: given }
    const from = messages.length
    write({ jsonrpc: '2.0', id, method, ...(all && { params: all }) })
    // An id may be reused once it has its answer.
    let seen = 0
    return find((message) => {
      seen += 1
      return seen > from && message['id'] === id && message['method'] === undefined
    })
  }

  return {
    child,
    messages,
    strayLines,
    stderr: () => stderr,
    write,
    ask,
    find,
    call(name, args = {}, id) {
      const said = ask('tools/call', { name, arguments: args }, id).then(textOf)
      said.catch(() => {})
      return said
    },
    async initialize(capabilities = {}, protocolVersion = '2025-11-25') {
      const answer = await ask('initialize', {
        protocolVersion,
        capabilities,
        clientInfo: { name: 'test', version: '1' },
      })
      write({ jsonrpc: '2.0', method: 'notifications/initialized' })
      return answer
    },
    speakModern(capabilities = {}) {
      claims = modernClaims(capabilities)
    },
    answerWith(given) {
      resultOf = given
    },
    endInput: () => void stdin.end(),
    kill: (signal) => void child.kill(signal),
    over,
    async close() {
      stdout.resume()
      stdin.end()
      const force = (['SIGTERM', 'SIGKILL'] as const).map((signal, index) =>
        setTimeout(() => child.kill(signal), endGraceMs * (index + 1)),
      )
      await closed
      force.forEach(clearTimeout)
    },
  }
}

function shortly(message: JsonObject): string {
  return JSON.stringify(message).slice(0, 400)
}

/** Returns `_meta` for requests of 2026-07-28. */
function modernClaims(capabilities: JsonObject = {}): JsonObject {
  return {
    [mcpMetaKey.protocolVersion]: modernRevision,
    [mcpMetaKey.clientInfo]: { name: 'test', version: '1' },
    [mcpMetaKey.clientCapabilities]: capabilities,
  }
}

/** Returns the text of a tool's result, or of its error. */
export function textOf(answer: JsonObject): string {
  const { result, error } = answer
  if (!isJsonObject(result)) return `error ${JSON.stringify(error)}`
  const content = result['content']
  return Array.isArray(content) ? content.map((part: JsonObject) => String(part['text'])).join('\n') : ''
}

/** Returns the error of a response; fails when it has a result. */
export function errorOf(answer: JsonObject): { code: number; message: string; data: JsonObject } {
  const { error } = answer
  if (!isJsonObject(error)) throw new Error(`No error: ${JSON.stringify(answer).slice(0, 500)}`)
  const data = isJsonObject(error['data']) ? error['data'] : {}
  return { code: Number(error['code']), message: String(error['message']), data }
}

/** Returns the peak resident memory of a process so far, in MB. Linux only. */
export function peakMegabytes({ child }: BridgeChild): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}
