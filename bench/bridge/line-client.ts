import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

const answerTimeoutMs = 60_000
const endTimeoutMs = 5000

/** A bridge as a child process and a client that reads no more of its lines than it must. */
export interface LineClient {
  pid: number
  /** Sends `tools/list`, `tools/call` and the like; resolves with how many bytes the answer had. */
  request(method: string, params?: object): Promise<number>
  notify(method: string): void
  /** The largest resident memory so far, in bytes. */
  peakMemoryBytes(): number
  memoryBytes(): number
  /** Closes stdin and waits for the end. */
  close(): Promise<void>
}

/** Starts `argv` with an empty environment but for `environment`. */
export function startLineClient(
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): LineClient {
  const [command = '', ...rest] = argv
  const child = spawn(command, rest, { env: environment, stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.on('error', () => {})
  const waiting = new Map<number, (bytes: number) => void>()
  let parts: Buffer[] = []
  let lastId = 0
  child.stdout.on('data', (chunk: Buffer) => {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end))
      take(parts)
      parts = []
      start = end + 1
    }
    if (start < chunk.length) parts.push(chunk.subarray(start))
  })
  const take = (line: readonly Buffer[]): void => {
    const bytes = line.reduce((sum, part) => sum + part.length, 0)
    // The id stands near one of the ends, whoever wrote the line.
    const head = line[0]?.subarray(0, 300).toString('latin1') ?? ''
    const tail = line.at(-1)?.subarray(-300).toString('latin1') ?? ''
    const id = Number(/"id":(\d+)/.exec(head)?.[1] ?? /"id":(\d+)/.exec(tail)?.[1])
    waiting.get(id)?.(bytes)
    waiting.delete(id)
  }
  const pid = child.pid ?? 0
  return {
    pid,
    request(method, params) {
      const id = (lastId += 1)
      return new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`${method} was not answered by ${argv.join(' ')}`)),
          answerTimeoutMs,
        )
        waiting.set(id, (bytes) => {
          clearTimeout(timer)
          resolve(bytes)
        })
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) })}\n`)
      })
    },
    notify: (method) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`),
    peakMemoryBytes: () => statusBytes(pid, 'VmHWM'),
    memoryBytes: () => statusBytes(pid, 'VmRSS'),
    close: () => end(child),
  }
}

/** Opens a connection as clients of 2025-11-25 do, and lists the tools. */
export async function openConnection(client: LineClient): Promise<void> {
  await client.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  })
  client.notify('notifications/initialized')
  await client.request('tools/list')
}

function statusBytes(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? Number.NaN) * 1024
}

function end(child: ChildProcess): Promise<void> {
  const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs)
  return new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.stdin?.end()
  }).finally(() => clearTimeout(timer))
}
