import { createParser } from 'eventsource-parser'
import {
  type AuthenticateChallenge,
  parseWwwAuthenticate,
} from '@drawbridge/shared/oauth/www-authenticate.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { type HttpClient, type HttpResponse, readBody } from '../../http/http-client.ts'
import { findProtectedResource } from '../../oauth/discovery/metadata.ts'
import type { OAuthConfig } from '../../oauth/oauth-config.ts'
import type { OAuthPorts } from '../../oauth/server-request.ts'
import { version } from '../../config/version.ts'

/** A server's response to one message. */
export interface EndpointAnswer {
  status: number
  contentType: string
  challenges: readonly AuthenticateChallenge[]
  /** The server's clock in epoch seconds, from the `Date` header. */
  date: number | undefined
  /** The JSON-RPC response in the body, of JSON or of the first events. */
  message: Readonly<Record<string, unknown>> | undefined
  sessionId: string | undefined
}

const maxBytes = 4_000_000
const timeoutMs = 20_000

/** Sends one JSON-RPC request to an MCP endpoint. Rejects with `NetworkError`; any status is a response. */
async function askEndpoint(
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

/** A server's response to a new client. */
export interface FirstAnswer extends EndpointAnswer {
  /** HTTP+SSE of MCP 2024-11-05: the URL has a stream to GET, and nothing to POST to. */
  isSse: boolean
}

/**
 * Contacts a server like a new client: with `initialize`, and if there is nothing to POST to, with a GET, as for the older
 * transport. Ends the session that was opened. Rejects with `NetworkError`.
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

/** Returns whether a server that answers without a token names an authorization server, as only some of its tools may be public. */
export async function namesSignIn(config: OAuthConfig, ports: OAuthPorts): Promise<boolean> {
  const context = { ...ports, config, signal: AbortSignal.timeout(timeoutMs) }
  const { metadata } = await findProtectedResource(undefined, context)
  return (metadata?.authorization_servers?.length ?? 0) > 0
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

/** Opens a session in revisions up to 2025-11-25; a server that requires a sign-in refuses it in any revision. */
const initializeRequest: Readonly<Record<string, unknown>> = {
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'drawbridge', version },
  },
}

/** Ends a session that was only opened for the check. Never rejects. */
async function endSession(
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

/** Returns the first event with a response, without waiting for the end of the stream. */
async function firstEvent(response: HttpResponse): Promise<string> {
  let found = ''
  const parser = createParser({
    onEvent({ data }) {
      const message = parseJsonObject(data)
      if (found === '' && message !== undefined && ('result' in message || 'error' in message)) found = data
    },
  })
  try {
    response.body.setEncoding('utf8')
    let length = 0
    for await (const chunk of response.body as AsyncIterable<string>) {
      parser.feed(chunk)
      length += chunk.length
      if (found !== '' || length > maxBytes) break
    }
  } catch {
    // A stream that breaks off has no response.
  } finally {
    response.body.destroy()
  }
  return found
}
