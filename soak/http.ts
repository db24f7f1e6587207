import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { ServerAddress } from '../tests/e2e/server-process.ts'

/** One HTTP request to an instance; `headers` has the public Host. */
export interface SoakRequest {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
}

/** A complete response. */
export interface SoakResponse {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

const timeoutMs = 30_000

// Shared: clients come and go, and connections of a killed instance break.
const agent = new Agent({ keepAlive: true, maxFreeSockets: 64 })

/**
 * Sends a request to `port` of this machine. Rejects when the connection breaks before the response is complete, or
 * after `giveUpMs`, when the client itself disconnects.
 */
export async function sendTo(
  port: number,
  { method, path, headers, body }: SoakRequest,
  giveUpMs = timeoutMs,
): Promise<SoakResponse> {
  const sent = request({ host: '127.0.0.1', port, method, path, headers, agent })
  const timer = setTimeout(() => sent.destroy(new Error('No answer in time.')), giveUpMs)
  try {
    sent.end(body)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    // The body reports what breaks from now on.
    sent.on('error', () => {})
    return { status: answer.statusCode ?? 0, headers: answer.headers, text: await text(answer) }
  } finally {
    clearTimeout(timer)
  }
}

/** Closes idle connections. */
export function closeConnections(): void {
  agent.destroy()
}

/** Returns the system as clients and browsers know it. Every request goes to another instance. */
export function systemAddress(baseUrl: string, appUrl: string, anyPort: () => number): ServerAddress {
  return {
    baseUrl,
    appUrl,
    mcpUrl: `${baseUrl}/mcp`,
    async fetch(input, init) {
      const asked = new Request(input, init)
      const { pathname, search, host } = new URL(asked.url)
      const answer = await sendTo(anyPort(), {
        method: asked.method,
        path: pathname + search,
        headers: { ...Object.fromEntries(asked.headers), host },
        ...(asked.method === 'POST' && { body: await asked.text() }),
      })
      const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
        [value ?? []].flat().map((one): [string, string] => [name, one]),
      )
      const isBodiless = answer.status === 204 || answer.status === 304
      return new Response(isBodiless ? null : answer.text, { status: answer.status, headers })
    },
  }
}
