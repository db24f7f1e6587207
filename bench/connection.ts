import { connect, type Socket } from 'node:net'

/** The parts of an HTTP response that load needs. */
export interface Answer {
  status: number
  body: string
}

/** A kept-alive connection that sends complete requests unchanged, one after another. */
export interface Connection {
  /** Calls `onAnswer` once, with undefined when the connection broke. Call only after the previous answer. */
  send(request: string, onAnswer: (answer: Answer | undefined) => void): void
  close(): void
}

/**
 * Connects to `port` on this machine, from `localAddress` if given. Minimal, so that the load takes less time than the measured server; answers
 * must be ASCII and carry Content-Length or be chunked.
 */
export async function openConnection(port: number, localAddress: string = '127.0.0.1'): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  return createConnection(socket)
}

function createConnection(socket: Socket): Connection {
  let waiting: ((answer: Answer | undefined) => void) | undefined
  let received = ''
  let broken = false
  const settle = (answer: Answer | undefined): void => {
    const { length } = received
    received = ''
    const settled = waiting
    waiting = undefined
    if (length > 0 || answer === undefined) settled?.(answer)
  }
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received = received === '' ? text : received + text
    const answer = parseAnswer(received)
    if (answer) settle(answer)
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    broken = true
    settle(undefined)
  })
  return {
    send(request, onAnswer) {
      if (broken) {
        onAnswer(undefined)
        return
      }
      waiting = onAnswer
      socket.write(request, 'latin1')
    },
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
