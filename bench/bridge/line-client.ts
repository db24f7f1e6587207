import { type ChildProcess, spawn } from 'node:child_process'
import { cpuMs, memoryBytes, peakMemoryBytes } from '../process-usage.ts'

const answerTimeoutMs = 60_000
const termAfterMs = 300
const killAfterMs = 1000
const endBytes = 300

/** A successful response. */
export interface LineAnswer {
  bytes: number
  /** Start of the response; all of it when it is short. */
  head: string
}

/** A bridge as a child process, and a client that parses as little of its output as possible. */
export interface LineClient {
  /**
   * Sends `tools/list`, `tools/call` and the like. Rejects when the response is an error or a failed tool result,
   * when the process exits first, and after a minute.
   */
  request(method: string, params?: object): Promise<LineAnswer>
  notify(method: string): void
  /** Processor time so far, in milliseconds; grows in steps of ten. NaN, like memory, once the process has exited. */
  cpuMs(): number
  /** Peak resident memory so far, in bytes. */
  peakMemoryBytes(): number
  memoryBytes(): number
  /** Closes stdin and waits for the exit. Sends signals, as hosts do, to a process that does not exit. */
  close(): Promise<void>
}

interface Waiting {
  resolve(answer: LineAnswer): void
  reject(error: Error): void
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts `argv` with only `environment` as its environment. */
export function startLineClient(
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): LineClient {
  const [command = '', ...rest] = argv
  const child = spawn(command, rest, { env: environment, stdio: ['pipe', 'pipe', 'ignore'] })
  running.add(child)
  child.stdin.on('error', () => {})
  const waiting = new Map<number, Waiting>()
  const pid = child.pid ?? 0
  let lastId = 0
  let ending: Error | undefined
  splitLines(child.stdout, (line) => {
    const { id, answer, fault } = readLine(line)
    const who = waiting.get(id)
    waiting.delete(id)
    if (fault === undefined) who?.resolve(answer)
    else who?.reject(fault)
  })
  const ended = new Promise<void>((resolve) => {
    const end = (how: string): void => {
      running.delete(child)
      ending = new Error(`It ended with ${how}.`)
      for (const { reject } of waiting.values()) reject(ending)
      waiting.clear()
      resolve()
    }
    child.once('close', (code, signal) => end(String(code ?? signal)))
    child.once('error', ({ message }) => end(message))
  })
  const used = (read: (pid: number) => number): number => (ending === undefined ? read(pid) : Number.NaN)
  return {
    request(method, params) {
      if (ending !== undefined) return Promise.reject(ending)
      const id = (lastId += 1)
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(id)
          reject(new Error(`${method} was not answered within ${answerTimeoutMs} ms.`))
        }, answerTimeoutMs)
        waiting.set(id, {
          resolve(answer) {
            clearTimeout(timer)
            resolve(answer)
          },
          reject(error) {
            clearTimeout(timer)
            reject(error)
          },
        })
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) })}\n`)
      })
    },
    notify: (method) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`),
    cpuMs: () => used(cpuMs),
    peakMemoryBytes: () => used(peakMemoryBytes),
    memoryBytes: () => used(memoryBytes),
    async close() {
      const signals = [
        setTimeout(() => child.kill('SIGTERM'), termAfterMs),
        setTimeout(() => child.kill('SIGKILL'), killAfterMs),
      ]
      child.stdin.end()
      await ended
      for (const timer of signals) clearTimeout(timer)
    },
  }
}

/** Opens a connection as clients of 2025-11-25 do, and lists the tools. Rejects when those of the bench are missing. */
export async function openConnection(client: LineClient): Promise<void> {
  await client.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  })
  client.notify('notifications/initialized')
  const { head } = await client.request('tools/list')
  // A bridge that is not signed in may list its own tools.
  if (!head.includes('"echo"')) throw new Error(`These are not the tools of the server: ${head}`)
}

function splitLines(stream: NodeJS.ReadableStream, take: (line: readonly Buffer[]) => void): void {
  let parts: Buffer[] = []
  stream.on('data', (chunk: Buffer) => {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end))
      take(parts)
      parts = []
      start = end + 1
    }
    if (start < chunk.length) parts.push(chunk.subarray(start))
  })
}

/** Reads only the ends of a line, where any implementation puts the needed members. */
function readLine(line: readonly Buffer[]): { id: number; answer: LineAnswer; fault: Error | undefined } {
  const head = joined(line.slice(0, 2)).subarray(0, endBytes).toString('latin1')
  const tail = joined(line.slice(-2)).subarray(-endBytes).toString('latin1')
  const bytes = line.reduce((sum, part) => sum + part.length, 0)
  const isResult = head.includes('"result":') || tail.includes('"result":')
  const hasFailed = head.includes('"isError":true') || tail.includes('"isError":true')
  return {
    id: Number(/"id":(\d+)/.exec(head)?.[1] ?? /"id":(\d+)/.exec(tail)?.[1]),
    answer: { bytes, head },
    fault: isResult && !hasFailed ? undefined : new Error(`The answer is not a result: ${head}`),
  }
}

/** A line may be cut anywhere. */
function joined(parts: readonly Buffer[]): Buffer {
  const [only] = parts
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)
}
