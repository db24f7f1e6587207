import { launch, type Program } from '../child.ts'

const answerTimeoutMs = 60_000
const termAfterMs = 300
const killAfterMs = 1000
const endBytes = 300

/** A bridge, and its client. */
export type LineClient = ReturnType<typeof startLineClient>

/** Starts a bridge, and a client of it that parses as little of its output as possible. */
export function startLineClient(program: Program) {
  const { child, ...own } = launch(program)
  const waiting = new Map<number, (line: Line | Error) => void>()
  let lastId = 0
  let ending: Error | undefined
  if (child.stdout)
    splitLines(child.stdout, (parts) => {
      const line = readLine(parts)
      waiting.get(line.id)?.(line)
    })
  child.once('close', (code, signal) => {
    ending = new Error(`${program.name} ended with ${code ?? signal}.`)
    for (const settle of waiting.values()) settle(ending)
  })
  const send = (message: object): void =>
    void child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  return {
    ...own,
    /**
     * Sends `tools/list`, `tools/call` and the like, and resolves with the length of the response. Rejects when it is an
     * error, a failed tool result or lacks `part`, when the process exits first, and after a minute.
     */
    async request(method: string, params?: object, part = '"result":'): Promise<number> {
      if (ending !== undefined) throw ending
      const id = (lastId += 1)
      return new Promise((resolve, reject) => {
        const settle = (line: Line | Error): void => {
          clearTimeout(timer)
          waiting.delete(id)
          if (line instanceof Error) reject(line)
          else if (!line.isGood || !line.ends.includes(part)) reject(new Error(`Wrong answer: ${line.ends}`))
          else resolve(line.bytes)
        }
        const timer = setTimeout(() => settle(new Error(`${method} was not answered.`)), answerTimeoutMs)
        waiting.set(id, settle)
        send({ id, method, ...(params && { params }) })
      })
    },
    notify: (method: string) => send({ method }),
    /** Closes stdin and waits for the exit. Sends signals, as hosts do, to a process that does not exit. */
    async close() {
      const signals = [
        setTimeout(own.kill, termAfterMs, 'SIGTERM'),
        setTimeout(own.kill, killAfterMs, 'SIGKILL'),
      ]
      child.stdin?.end()
      await own.ended
      for (const timer of signals) clearTimeout(timer)
    },
  }
}

/** Opens a connection as clients of 2025-11-25 do, and lists the tools. Rejects when the server's are missing. */
export async function openConnection(client: LineClient): Promise<void> {
  const clientInfo = { name: 'bench', version: '1' }
  await client.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  client.notify('notifications/initialized')
  // A bridge that is not signed in may list its own tools.
  await client.request('tools/list', undefined, '"echo"')
}

function splitLines(stream: NodeJS.ReadableStream, take: (line: readonly Buffer[]) => void): void {
  let parts: Buffer[] = []
  stream.on('data', (chunk: Buffer) => {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      take([...parts, chunk.subarray(start, end)])
      parts = []
      start = end + 1
    }
    if (start < chunk.length) parts.push(chunk.subarray(start))
  })
}

type Line = ReturnType<typeof readLine>

/** Reads only the ends of a line, where any implementation puts the needed members. A line may be cut anywhere. */
function readLine(line: readonly Buffer[]) {
  const head = Buffer.concat(line.slice(0, 2)).subarray(0, endBytes).toString('latin1')
  const tail = Buffer.concat(line.slice(-2)).subarray(-endBytes).toString('latin1')
  const ends = `${head} ${tail}`
  return {
    id: Number(/"id":(\d+)/.exec(ends)?.[1]),
    bytes: line.reduce((sum, part) => sum + part.length, 0),
    /** Its first and last characters. */
    ends,
    isGood: ends.includes('"result":') && !ends.includes('"isError":true'),
  }
}
