import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** The parts of an HTTP response that load needs. */
export interface Answer {
  status: number
  body: string
}

/** Produces the requests of one connection. */
export interface Walker {
  /** Returns the next request, head and body. */
  next(): string
  /** Takes the answer. False for a wrong one, which ends the connection's part: later results would prove nothing. */
  accept(answer: Answer): boolean
}

/** Creates walkers that repeat `request`, one for each of `connections`; `isRight` checks the answers. */
export function repeating(
  connections: number,
  request: string,
  isRight: (answer: Answer) => boolean = ({ status }) => status === 200,
): Walker[] {
  return Array.from({ length: connections }, () => ({ next: () => request, accept: isRight }))
}

/** Connections to this machine, one for each walker. */
export interface Load {
  /** Connections take turns among these. */
  ports: readonly number[]
  walkers: readonly Walker[]
  /** Own address of the connections. */
  from?: string
  /** Pause between an answer and the next request. */
  pauseMs?: number
}

/**
 * Opens the connections, keeps each busy with one request at a time, and waits for the last answers. Returns the milliseconds that each
 * took, and wrong answers, of which a broken connection is one.
 */
export async function runLoad(load: Load, milliseconds: number) {
  const { ports, walkers, from = '127.0.0.1', pauseMs = 0 } = load
  const lanes = await Promise.all(
    walkers.map(async (walker, index) => ({
      walker,
      connection: await openConnection(ports[index % ports.length] ?? 0, from),
    })),
  )
  const latencies: number[] = []
  const wrong: (Answer | string)[] = []
  const begin = performance.now()
  const end = begin + milliseconds
  await Promise.all(
    lanes.map(async ({ walker, connection }) => {
      for (let sent = performance.now(); sent < end; sent = performance.now()) {
        const answer = await connection.send(walker.next())
        if (typeof answer === 'string' || !walker.accept(answer)) {
          wrong.push(answer)
          break
        }
        latencies.push(performance.now() - sent)
        if (pauseMs > 0) await sleep(pauseMs)
      }
      connection.close()
    }),
  )
  return { completed: latencies.length, seconds: (performance.now() - begin) / 1000, latencies, wrong }
}

/**
 * Connects to `port` on this machine. Minimal, so that the load takes less time than the measured server; answers
 * must be ASCII and carry Content-Length or be chunked.
 */
async function openConnection(port: number, localAddress: string) {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
  await once(socket, 'connect')
  let settle: (answer: Answer | string) => void = () => {}
  let received = ''
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received = received === '' ? text : received + text
    const answer = parseAnswer(received)
    if (!answer) return
    received = ''
    settle(answer)
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => settle('The connection broke.'))
  return {
    /** Call only after the previous answer. Resolves with text when the connection breaks. */
    send: (request: string) =>
      new Promise<Answer | string>((resolve) => {
        settle = resolve
        if (socket.destroyed) resolve('The connection broke.')
        else socket.write(request, 'latin1')
      }),
    close: () => void socket.destroy(),
  }
}

/** Returns the answer in `text` when it is complete. */
function parseAnswer(text: string): Answer | undefined {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return undefined
  const status = Number(text.slice(9, 12))
  const body = text.slice(head + 4)
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, head + 2))?.[1]
  if (length !== undefined) return body.length >= Number(length) ? { status, body } : undefined
  return body.endsWith('\r\n0\r\n\r\n') ? { status, body: withoutChunks(body) } : undefined
}

function withoutChunks(body: string): string {
  let text = ''
  for (let at = 0; ;) {
    const end = body.indexOf('\r\n', at)
    const length = Number.parseInt(body.slice(at, end), 16)
    if (!(length > 0)) return text
    text += body.slice(end + 2, end + 2 + length)
    at = end + 2 + length + 2
  }
}
