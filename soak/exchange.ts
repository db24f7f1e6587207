import { Agent, type IncomingMessage, request } from 'node:http'

/** One HTTP request to an instance; `headers` has the public Host. */
export interface Outgoing {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
}

/** A complete response. */
export interface Exchanged {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

const timeoutMs = 30_000

// Shared: clients come and go, and connections of a killed instance break.
const agent = new Agent({ keepAlive: true, maxFreeSockets: 64 })

/**
 * Sends `outgoing` to `port` of this machine. Rejects when the connection breaks before the response is complete, or
 * after thirty seconds. With `hangUpAfterMs`, the client itself disconnects before the response.
 */
export function exchange(
  port: number,
  outgoing: Outgoing,
  options: { hangUpAfterMs?: number } = {},
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const { method, path, headers, body } = outgoing
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('close', () => {
        clearTimeout(timer)
        clearTimeout(hangUp)
        if (!answer.complete) {
          reject(new Error('The answer is cut.'))
          return
        }
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text: Buffer.concat(chunks).toString(),
        })
      })
    })
    const timer = setTimeout(() => sent.destroy(new Error('No answer in time.')), timeoutMs)
    const hangUp =
      options.hangUpAfterMs === undefined
        ? undefined
        : setTimeout(() => sent.destroy(new Error('The client went away.')), options.hangUpAfterMs)
    sent.on('error', (error) => {
      clearTimeout(timer)
      clearTimeout(hangUp)
      reject(error)
    })
    sent.end(body)
  })
}

/** Closes idle connections. */
export function closeConnections(): void {
  agent.destroy()
}
