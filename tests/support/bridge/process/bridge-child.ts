import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { compileCache } from '../../compile-cache.ts'
import { createLineClient, type LineClient } from './line-client.ts'

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
interface ProcessEnd {
  code: number | null
  signal: NodeJS.Signals | null
  /** By the clock of `performance.now()`. */
  at: number
}

/** A built bridge and its line-by-line client. */
export interface BridgeChild extends LineClient {
  child: ChildProcess
  stderr(): string
  /** Calls a tool; returns the text of its result, or the failure. */
  call(name: string, args?: JsonObject, id?: number | string): Promise<string>
  endInput(): void
  kill(signal: NodeJS.Signals): void
  over: Promise<ProcessEnd>
  /** Closes stdin and waits for the end, after some seconds by force. */
  close(): Promise<void>
}

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
  return { PATH: process.env['PATH'] ?? '', HOME: home ?? '/nonexistent', ...compileCache, ...environment }
}

/** Returns a client at the stdio of any process. */
export function talkTo(child: ReturnType<typeof spawn>): BridgeChild {
  const { stdin, stdout, stderr: errors } = child
  if (stdin === null || stdout === null || errors === null) throw new Error('A bridge without pipes.')
  let stderr = ''
  const client = createLineClient(stdin, stdout, () => stderr)
  errors.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const over = new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal, at: performance.now() }))
  })
  // Nothing more comes from stdout after this.
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => {
      client.end()
      resolve()
    })
  })

  return {
    ...client,
    child,
    stderr: () => stderr,
    call(name, args = {}, id) {
      const said = client.ask('tools/call', { name, arguments: args }, id).then(textOf)
      said.catch(() => {})
      return said
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
