import { type JsonObject, isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { displayText } from '../display-text.ts'
import type { Browser, EndpointResponse } from '../ports.ts'
import { hostOf, isSafeForTokens, originPatterns } from '../site.ts'

/** Result of calling `/mcp` with the token. */
export type ConnectionTest =
  | { kind: 'none' }
  | { kind: 'running' }
  | { kind: 'passed'; server: string | undefined; tools: readonly string[]; milliseconds: number }
  /** `challenge`: error and error_description of `WWW-Authenticate`, as sent by the server. */
  | { kind: 'refused'; status: number; error: string | undefined; description: string | undefined }
  /** A response that is not MCP, or a JSON-RPC error. */
  | { kind: 'not-mcp'; status: number; detail: string | undefined }
  | { kind: 'no-permission'; host: string }
  | { kind: 'unreachable'; host: string }

const timeoutMs = 15_000
const maxTools = 500
const maxPages = 10
const clientInfo = { name: 'drawbridge-extension', version: '1' }
// Names as in `shared/mcp/mcp-protocol.ts`, whose tables are too large for the popup.
const [legacyRevision, modernRevision] = ['2025-11-25', '2026-07-28']
const [revisionHeader, sessionHeader] = ['MCP-Protocol-Version', 'Mcp-Session-Id']
const meta = 'io.modelcontextprotocol/'

type Headers = Readonly<Record<string, string>>
type Ask = (method: string, params: JsonObject, headers?: Headers) => Promise<Answer>

/** The response, with its JSON-RPC message. */
interface Answer {
  response: EndpointResponse
  message: JsonObject | undefined
}

/**
 * Lists the tools of the MCP server at `${baseUrl}/mcp` with a token: as a client of 2025-11-25, and if that is not
 * accepted, of 2026-07-28. Sends the token nowhere else, and never over http to another computer. Measures the time
 * of the (first) list. Where permission is requested in a tab, as in Firefox, sends nothing before it is granted:
 * there it is also the consent to send. Never rejects; no text of the result contains the token.
 */
export async function testEndpoint(
  browser: Browser,
  baseUrl: string,
  token: string,
): Promise<ConnectionTest> {
  const host = hostOf(baseUrl)
  const mayRead = (): Promise<boolean> => browser.mayRead(originPatterns(baseUrl), 'test')
  if (!isSafeForTokens(baseUrl)) return { kind: 'unreachable', host }
  try {
    if (browser.asksInTab && !(await mayRead())) return { kind: 'no-permission', host }
    return await testBothEras(browser, `${baseUrl}/mcp`, token)
  } catch {
    // With permission CORS does not apply, so it might succeed.
    const isAllowed = await mayRead().catch(() => true)
    return { kind: isAllowed ? 'unreachable' : 'no-permission', host }
  }
}

async function testBothEras(browser: Browser, url: string, token: string): Promise<ConnectionTest> {
  const send = async (
    method: 'POST' | 'DELETE',
    headers: Headers,
    message?: object,
  ): Promise<EndpointResponse> => {
    const { status, header, body } = await browser.fetch({
      url,
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        ...headers,
      },
      ...(message && { body: JSON.stringify({ jsonrpc: '2.0', ...message }) }),
      timeoutMs,
    })
    // A server may echo the token, which the user has not asked to see.
    const clean = (text: string | undefined): string => (text ?? '').replaceAll(token, '…')
    return { status, header: (name) => clean(header(name)), body: clean(body) }
  }
  let id = 0
  const ask: Ask = async (method, params, headers = {}) => {
    const response = await send('POST', headers, { id: ++id, method, params })
    return { response, message: responseIn(response, id) }
  }

  const testLegacy = async (): Promise<ConnectionTest> => {
    const opening = await ask('initialize', { protocolVersion: legacyRevision, capabilities: {}, clientInfo })
    const result = opening.message?.['result']
    if (!isJsonObject(result)) return failureOf(opening)
    const revision = String(result['protocolVersion'])
    const session = opening.response.header('mcp-session-id')
    const headers = {
      [revisionHeader]: /^[\d-]+$/.test(revision) ? revision : legacyRevision,
      ...(session && { [sessionHeader]: session }),
    }
    await send('POST', headers, { method: 'notifications/initialized' })
    const test = await listTools(browser, (params) => ask('tools/list', params, headers))
    // Do not wait for the session to end.
    if (session) send('DELETE', headers).catch(() => {})
    return test.kind === 'passed' ? { ...test, server: nameOf(result['serverInfo']) } : test
  }

  const legacy = await testLegacy()
  if (legacy.kind !== 'not-mcp') return legacy
  const headers = { [revisionHeader]: modernRevision, 'Mcp-Method': 'tools/list' }
  const _meta = {
    [`${meta}protocolVersion`]: modernRevision,
    [`${meta}clientInfo`]: clientInfo,
    [`${meta}clientCapabilities`]: {},
  }
  const modern = await listTools(browser, (params) => ask('tools/list', { ...params, _meta }, headers))
  return modern.kind === 'not-mcp' ? legacy : modern
}

/** Follows the pages of the list, up to a limit. */
async function listTools(
  browser: Browser,
  ask: (params: JsonObject) => Promise<Answer>,
): Promise<ConnectionTest> {
  const tools: string[] = []
  const start = browser.now()
  let milliseconds: number | undefined
  let server: string | undefined
  let cursor: unknown
  for (let page = 0; page < maxPages; page++) {
    const answer = await ask(typeof cursor === 'string' ? { cursor } : {})
    milliseconds ??= Math.round((browser.now() - start) * 1000)
    const result = answer.message?.['result']
    if (!isJsonObject(result) || !Array.isArray(result['tools'])) return failureOf(answer)
    tools.push(...result['tools'].flatMap((tool) => nameOf(tool) ?? []))
    server ??= nameOf(memberOf(result['_meta'], `${meta}serverInfo`))
    cursor = result['nextCursor']
    if (typeof cursor !== 'string') break
  }
  return { kind: 'passed', server, tools: tools.slice(0, maxTools), milliseconds: milliseconds ?? 0 }
}

function memberOf(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined
}

function nameOf(value: unknown): string | undefined {
  const name = memberOf(value, 'name')
  return typeof name === 'string' ? displayText(name, 128) : undefined
}

/** Finds the response to a request, in JSON or in the events of a stream. */
function responseIn({ header, body }: EndpointResponse, id: number): JsonObject | undefined {
  const isStream = header('content-type')?.startsWith('text/event-stream')
  const texts = isStream ? body.split(/\r?\n\r?\n|\r\r/).map(eventData) : [body]
  // An error may lack an id when the request was not understood.
  return texts.map(parseJsonObject).find((message) => message && (message['id'] === id || 'error' in message))
}

function eventData(event: string): string {
  const lines = event.split(/\r\n?|\n/).filter((line) => line.startsWith('data:'))
  return lines.map((line) => line.slice(5)).join('\n')
}

function failureOf({ response, message }: Answer): ConnectionTest {
  const { status } = response
  if (status === 401 || status === 403) {
    // RFC 6750 section 3. For display only, so multiple challenges need not be told apart.
    const challenge = response.header('www-authenticate') ?? ''
    const said = (name: string): string | undefined => {
      const [, text] = new RegExp(`[ ,]${name}="((?:\\\\.|[^"\\\\])*)"`, 's').exec(challenge) ?? []
      return text === undefined ? undefined : displayText(text.replaceAll(/\\(.)/gs, '$1'), 500)
    }
    return { kind: 'refused', status, error: said('error'), description: said('error_description') }
  }
  const detail = memberOf(message?.['error'], 'message')
  return {
    kind: 'not-mcp',
    status,
    detail: typeof detail === 'string' ? displayText(detail, 500) : undefined,
  }
}
