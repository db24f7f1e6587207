import { PassThrough } from 'node:stream'
import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  legacyRevisions,
  type McpEra,
  mcpMetaKey,
  modernRevision,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type McpProxyConfig, McpProxy, type McpProxyPorts } from '../../proxy/proxy.ts'
import { TransportError } from '../../transport/transport.ts'
import type { ServerMemory } from '../../transport/server-memory.ts'
import { version } from '../../config/version.ts'
import { exitCode } from '../failure/command-failure.ts'
import { type FailureContext, fill, rpcFailure } from '../failure/failure-text.ts'
import { type Finding, fail, failureFinding, ok } from './finding.ts'

export interface SessionCheckPorts {
  http: McpProxyPorts['http']
  runtime: Runtime
  /** The login; undefined where the headers of the configuration are enough. */
  token: string | undefined
  /** Memory of earlier connections, which decides how a connection begins. */
  remembered: ServerMemory | undefined
  context: FailureContext
}

/** Facts about the server, as one client sees it. */
interface Listing {
  serverName: string | undefined
  /** In which revision the server was spoken to. */
  revision: string
  toolCount: number
}

const answerMs = 20_000

const revisions: Record<McpEra, string> = { legacy: legacyRevisions[0], modern: modernRevision }

/**
 * Lists the tools as clients do, through the bridge itself: once as a client of 2025-11-25, and once as one of 2026-07-28. Fails
 * if either gets none of a server that has tools. Looks at the first page, renews no login and remembers nothing.
 */
export async function checkSession(config: McpProxyConfig, ports: SessionCheckPorts): Promise<Finding> {
  const listings: Listing[] = []
  for (const client of ['legacy', 'modern'] as const) {
    const found = await listAs(client, config, ports)
    if ('state' in found) return found
    listings.push(found)
  }
  const name = listings.find(({ serverName }) => serverName !== undefined)?.serverName ?? 'The server'
  const spoken = [...new Set(listings.map(({ revision }) => revision))].join(' and ')
  const count = Math.max(...listings.map(({ toolCount }) => toolCount))
  const tools = count === 0 ? 'no tools' : `${count} ${count === 1 ? 'tool' : 'tools'} on its first page`
  return ok('session', `${JSON.stringify(name)} speaks ${spoken} and has ${tools}.`)
}

/** Runs one connection from start to end. */
async function listAs(
  client: McpEra,
  config: McpProxyConfig,
  { http, runtime, token, remembered, context }: SessionCheckPorts,
): Promise<Listing | Finding> {
  let failure: unknown
  let memory = remembered
  const peer = createPeer()
  const proxy = new McpProxy(
    { ...config, retryMs: 0 },
    {
      input: peer.input,
      output: peer.output,
      http,
      runtime,
      tokens: {
        authorization: async () => (token === undefined ? undefined : { header: `Bearer ${token}` }),
        refused: async () => ({ kind: 'sign_in_needed' }),
      },
      openBrowser: () => false,
      memory: { read: () => remembered, write: (learned) => (memory = learned) },
      describeFailure(error) {
        failure = error
        return rpcFailure(error, context)
      },
      say() {},
      note() {},
    },
  )
  const ended = proxy.run()
  try {
    const opened = await peer.ask(...openings[client])
    if (client === 'legacy') peer.tell('notifications/initialized')
    const listed =
      'result' in opened && hasTools(opened.result) ? await peer.ask('tools/list', metas[client]) : opened
    if (!('result' in listed)) return refused(listed, { client, failure, context })
    proxy.stop('the tools are listed')
    await ended
    return listingOf(opened, listed, client, memory)
  } finally {
    proxy.stop('nothing more is asked')
    await ended
  }
}

function listingOf(
  opened: Answered,
  listed: Answered,
  client: McpEra,
  memory: ServerMemory | undefined,
): Listing {
  const { result } = opened as { result: JsonObject }
  const meta = isJsonObject(result['_meta']) ? result['_meta'] : {}
  const info = result['serverInfo'] ?? meta[mcpMetaKey.serverInfo]
  const tools = (listed as { result: JsonObject }).result['tools']
  const settled = memory?.initializeResult?.['protocolVersion']
  const legacy = typeof settled === 'string' ? settled : revisions.legacy
  return {
    serverName: isJsonObject(info) && typeof info['name'] === 'string' ? info['name'] : undefined,
    revision: (memory?.era ?? client) === 'legacy' ? legacy : revisions.modern,
    toolCount: Array.isArray(tools) ? tools.length : 0,
  }
}

const clientInfo = { name: 'drawbridge', version }
const claims = {
  _meta: {
    [mcpMetaKey.protocolVersion]: revisions.modern,
    [mcpMetaKey.clientInfo]: clientInfo,
    [mcpMetaKey.clientCapabilities]: {},
  },
}
const metas: Record<McpEra, JsonObject> = { legacy: {}, modern: claims }
const openings: Record<McpEra, [method: string, params: JsonObject]> = {
  legacy: ['initialize', { protocolVersion: revisions.legacy, capabilities: {}, clientInfo }],
  modern: ['server/discover', claims],
}

/** Servers of prompts or resources alone have no tools. */
function hasTools(opened: JsonObject): boolean {
  const { capabilities } = opened
  return isJsonObject(capabilities) && 'tools' in capabilities
}

function refused(
  answer: Answered,
  { client, failure, context }: { client: McpEra; failure: unknown; context: FailureContext },
): Finding {
  if (failure instanceof TransportError && (failure.status === 401 || failure.status === 403)) {
    const text = `The server does not accept the login (${failure.status}).`
    if (context.fixedBy !== undefined)
      return failureFinding(
        'session',
        new TransportError('sign_in_needed', text, { status: failure.status }),
        context,
      )
    return fail('session', text, fill('drawbridge login {url} --force', context), exitCode.signInNeeded)
  }
  if (failure !== undefined) return failureFinding('session', failure, context)
  const asked = `A client of ${revisions[client]} cannot list the tools`
  const fix = fill('Tell the operator of the server. What a client sees: drawbridge {url} --debug', context)
  if (!('error' in answer)) return fail('session', `${asked}: no answer within ${answerMs / 1000} s.`, fix)
  const said = isJsonObject(answer.error) ? answer.error['message'] : undefined
  return fail('session', `${asked}: the server says ${JSON.stringify(String(said).slice(0, 200))}.`, fix)
}

/** A response, or nothing in time. */
type Answered = { result: JsonObject } | { error: unknown } | { isMissing: true }

/** The client at the other end of a proxy. */
interface Peer {
  readonly input: PassThrough
  readonly output: PassThrough
  ask(method: string, params: JsonObject): Promise<Answered>
  tell(method: string): void
}

function createPeer(): Peer {
  const input = new PassThrough()
  const output = new PassThrough()
  const waiting = new Map<unknown, (answer: Answered) => void>()
  let lastId = 0
  let rest = ''
  output.setEncoding('utf8')
  output.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(parseJsonObject(line))
  })

  function take(message: JsonObject | undefined): void {
    if (message === undefined || 'method' in message) return
    const { id, result, error } = message
    waiting.get(id)?.(isJsonObject(result) ? { result } : { error })
    waiting.delete(id)
  }

  const write = (message: JsonObject): void =>
    void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

  return {
    input,
    output,
    ask(method, params) {
      lastId += 1
      const id = lastId
      return new Promise((resolve) => {
        const timer = setTimeout(() => resolve({ isMissing: true }), answerMs)
        waiting.set(id, (answer) => {
          clearTimeout(timer)
          resolve(answer)
        })
        write({ id, method, params })
      })
    },
    tell: (method) => write({ method }),
  }
}
