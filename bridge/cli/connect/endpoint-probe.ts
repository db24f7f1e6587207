import {
  type AuthenticateChallenge,
  parseWwwAuthenticate,
} from '@drawbridge/shared/oauth/www-authenticate.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { HttpClient, HttpResponse } from '../../http/http-client.ts'
import { readBody } from '../../http/read-body.ts'
import { version } from '../../config/version.ts'

/** What a server said to one message. */
export interface EndpointAnswer {
  status: number
  contentType: string
  /** Of a 401 or 403. */
  challenges: readonly AuthenticateChallenge[]
  /** Its clock in epoch seconds, by the `Date` header. */
  date: number | undefined
  /** The JSON-RPC response in the body, of JSON or of the first events. */
  message: Readonly<Record<string, unknown>> | undefined
  sessionId: string | undefined
}

const maxBytes = 4_000_000
const timeoutMs = 20_000

/** Sends one JSON-RPC request to an MCP endpoint. Rejects with `NetworkError`; any status is an answer. */
export async function askEndpoint(
  http: HttpClient,
  serverUrl: string,
  message: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>>,
): Promise<EndpointAnswer> {
  const response = await http.send({
    method: 'POST',
    url: serverUrl,
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const isStream = (headerOf(response, 'content-type') ?? '').startsWith('text/event-stream')
  const text = isStream
    ? await firstEvent(response)
    : (await readBody(response, maxBytes).catch(() => Buffer.alloc(0))).toString('utf8')
  return { ...answerOf(response), message: parseJsonObject(text) }
}

/** What a server says to a client that comes for the first time. */
export interface FirstAnswer extends EndpointAnswer {
  /** The older transport: there is a stream to GET, and nothing to POST to at that URL (MCP 2024-11-05). */
  isSse: boolean
}

/**
 * Asks as a client without a session does: with `initialize`, and where nothing takes that, with a GET, as for the older
 * transport. A session that was opened is ended. Rejects with `NetworkError`.
 */
export async function askFirst(
  http: HttpClient,
  serverUrl: string,
  headers: Readonly<Record<string, string>>,
): Promise<FirstAnswer> {
  const answer = await askEndpoint(http, serverUrl, initializeRequest, headers)
  await endSession(http, serverUrl, answer.sessionId, headers)
  if (answer.status !== 404 && answer.status !== 405) return { ...answer, isSse: false }
  const response = await http.send({
    method: 'GET',
    url: serverUrl,
    headers: { Accept: 'text/event-stream', ...headers },
    signal: AbortSignal.timeout(timeoutMs),
  })
  response.body.on('error', () => {})
  response.body.destroy()
  const streamed = answerOf(response)
  const isSse = streamed.status === 200 && streamed.contentType.startsWith('text/event-stream')
  return isSse || streamed.status === 401
    ? { ...streamed, message: undefined, isSse }
    : { ...answer, isSse: false }
}

function answerOf(response: HttpResponse): Omit<EndpointAnswer, 'message'> {
  const date = Date.parse(headerOf(response, 'date') ?? '')
  return {
    status: response.status,
    contentType: headerOf(response, 'content-type') ?? '',
    challenges: challengesOf(response),
    date: Number.isNaN(date) ? undefined : Math.floor(date / 1000),
    sessionId: headerOf(response, mcpHeader.sessionId.toLowerCase()),
  }
}

/** The request that opens a session in the 2025 era; a server that wants a sign-in refuses it whatever it speaks. */
export const initializeRequest: Readonly<Record<string, unknown>> = {
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'drawbridge', version },
  },
}

/** Ends a session that only was opened to look. Never rejects. */
export async function endSession(
  http: HttpClient,
  serverUrl: string,
  sessionId: string | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  if (sessionId === undefined) return
  try {
    const response = await http.send({
      method: 'DELETE',
      url: serverUrl,
      headers: { ...headers, [mcpHeader.sessionId]: sessionId },
      signal: AbortSignal.timeout(2000),
    })
    response.body.destroy()
  } catch {
    // Sessions end by themselves too.
  }
}

function challengesOf(response: HttpResponse): AuthenticateChallenge[] {
  const value = headerOf(response, 'www-authenticate')
  return value === undefined ? [] : parseWwwAuthenticate(value)
}

function headerOf({ headers }: HttpResponse, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The first event that carries a response: the stream need not end behind it. */
async function firstEvent(response: HttpResponse): Promise<string> {
  let text = ''
  try {
    for await (const chunk of response.body) {
      text += (chunk as Buffer).toString('utf8')
      for (const event of text.split(/\r?\n\r?\n/).slice(0, -1)) {
        const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'))
        const payload = lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n')
        const message = parseJsonObject(payload)
        if (message !== undefined && ('result' in message || 'error' in message)) return payload
      }
      if (text.length > maxBytes) return ''
    }
    return ''
  } catch {
    return ''
  } finally {
    response.body.destroy()
  }
}
