import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { followRedirects } from '../../http/follow-redirects.ts'
import { type HttpClient, type HttpRequest, type HttpResponse, readBody } from '../../http/http-client.ts'
import { isBrowserChallenge } from '../../http/browser-wall.ts'
import { findProtectedResource } from '../../oauth/discovery/metadata.ts'
import type { OAuthConfig } from '../../oauth/oauth-config.ts'
import type { OAuthPorts } from '../../oauth/server-request.ts'
import { type EventReader, readEventStream } from '../../transport/event-stream.ts'
import { isEventStream, readAnswer } from '../../transport/streamable-http.ts'
import { challengesOf, wallOf } from '../../transport/failed-response.ts'
import { version } from '../../config/version.ts'

export type FirstAnswer = ReturnType<typeof answerOf>

const maxBytes = 4_000_000
const timeoutMs = 20_000
const endMs = 2000

/** Opens a session in revisions up to 2025-11-25; a server that requires a sign-in refuses it in any revision. */
const initializeRequest: Readonly<Record<string, unknown>> = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'drawbridge', version },
  },
}

/**
 * Contacts a server like a new client: with `initialize`, and if there is nothing to POST to, with a GET, as for the older
 * transport. Ends the session that was opened. Rejects with `NetworkError`; any status is a response.
 */
export async function sendInitialize(
  http: HttpClient,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<FirstAnswer> {
  const opened = await send(http, {
    method: 'POST',
    url,
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(initializeRequest),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = isEventStream(opened)
    ? await firstEvent(opened)
    : readAnswer(await readBody(opened, maxBytes).catch(() => Buffer.alloc(0))).text
  const sessionId = opened.headers[mcpHeader.sessionId.toLowerCase()]
  if (typeof sessionId === 'string') {
    const own = { ...headers, [mcpHeader.sessionId]: sessionId }
    // Sessions end by themselves too.
    await send(http, { method: 'DELETE', url, headers: own, signal: AbortSignal.timeout(endMs) }).then(
      ({ body }) => body.destroy(),
      () => {},
    )
  }
  const answer = answerOf(opened, parseJsonObject(text))
  if (answer.status !== 404 && answer.status !== 405) return answer
  const response = await send(http, {
    method: 'GET',
    url,
    headers: { Accept: 'text/event-stream', ...headers },
    signal: AbortSignal.timeout(timeoutMs),
  })
  response.body.on('error', () => {})
  response.body.destroy()
  const streamed = answerOf(response, undefined, response.status === 200 && isEventStream(response))
  return streamed.isSse || streamed.status === 401 ? streamed : answer
}

async function send(http: HttpClient, request: HttpRequest): Promise<HttpResponse> {
  return followRedirects(http, request, await http.send(request))
}

/**
 * Describes a response to a new client. `message`: the JSON-RPC response in the body, of JSON or of the first events. `isSse`: HTTP+SSE of MCP
 * 2024-11-05, where the URL has a stream to GET, and nothing to POST to.
 */
function answerOf(response: HttpResponse, message?: JsonObject, isSse = false) {
  const date = Date.parse(String(response.headers['date'] ?? ''))
  return {
    status: response.status,
    contentType: String(response.headers['content-type'] ?? ''),
    challenges: challengesOf(response),
    /** The server's clock in epoch seconds. */
    date: Number.isNaN(date) ? undefined : Math.floor(date / 1000),
    message,
    isSse,
    /** A protection in front of the server answered, which wants a browser. */
    wall: isBrowserChallenge(response) ? wallOf(response) : undefined,
  }
}

/** Returns whether a server that answers without a token names an authorization server, as only some of its tools may be public. */
export async function namesSignIn(config: OAuthConfig, ports: OAuthPorts): Promise<boolean> {
  const context = { ...ports, config, signal: AbortSignal.timeout(timeoutMs) }
  const { metadata } = await findProtectedResource(undefined, context)
  return (metadata?.authorization_servers?.length ?? 0) > 0
}

/** Returns the first event with a response, without waiting for the end of the stream. */
async function firstEvent(response: HttpResponse): Promise<string> {
  let found = ''
  const reader: EventReader = {
    take({ data }) {
      const { text } = readAnswer(data)
      const message = parseJsonObject(text)
      if (message !== undefined && ('result' in message || 'error' in message)) found = text
    },
    isDone: () => found !== '',
  }
  // A stream that breaks off has no response.
  await readEventStream(response, reader, maxBytes).catch(() => {})
  response.body.destroy()
  return found
}
