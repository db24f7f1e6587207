import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { createSignal, within } from '@drawbridge/shared/async.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  legacyRevisions,
  type McpEra,
  mcpErrorCode,
  mcpMetaKey,
  modernRevision,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, fail, ok, type Outcome } from '@drawbridge/shared/terminal/check.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import { version } from '../../config/version.ts'
import { McpProxy, type McpProxyPorts } from '../../proxy/proxy.ts'
import type { ServerMemory } from '../../transport/server-memory.ts'
import { TransportError } from '../../transport/transport.ts'
import { fixedTokens } from '../connect/connection-login.ts'
import { exitCode } from '../failure/failure-table.ts'
import { failureContextOf, fill, rpcFailure } from '../failure/failure-text.ts'
import { failed } from './finding.ts'

interface SessionPorts {
  http: McpProxyPorts['http']
  runtime: Runtime
  /** The login; undefined if the configured headers are enough. */
  token: string | undefined
  /** Memory of earlier connections, which decides how a connection begins. */
  remembered: ServerMemory | undefined
}

/** The tools as one client sees them. */
interface Listing {
  config: BridgeConfig
  client: McpEra
  opened?: JsonObject | undefined
  /** The last response, of `tools/list` unless the server has no tools; undefined: none in time. */
  listed?: JsonObject | undefined
  /** The reports of the proxy. */
  failure?: unknown
  /** The proxy's memory of the server. */
  memory: ServerMemory | undefined
}

const answerMs = 20_000

const revisions: Record<McpEra, string> = { legacy: legacyRevisions[0], modern: modernRevision }

/**
 * Lists the tools as clients do, through the bridge itself: once as a client of 2025-11-25, and once as one of 2026-07-28.
 * Looks at the first page, renews no login and remembers nothing.
 */
export async function listTools(config: BridgeConfig, ports: SessionPorts): Promise<Listing[]> {
  const legacy = await listAs('legacy', config, ports)
  if (!isListed(legacy)) return [legacy]
  const modern = await listAs('modern', config, ports)
  return isUnsupported(modern) ? [legacy] : [legacy, modern]
}

export const sessionChecks: Checks<readonly Listing[]> = {
  session(listings) {
    const refused = listings.find((listing) => !isListed(listing))
    if (refused !== undefined) return refusal(refused)
    const name = listings.map(nameOf).find((known) => known !== undefined) ?? 'The server'
    const spoken = [...new Set(listings.map(revisionOf))].join(' and ')
    const count = Math.max(
      ...listings.map(({ listed }) => {
        const tools = resultOf(listed)?.['tools']
        return Array.isArray(tools) ? tools.length : 0
      }),
    )
    const tools = count === 0 ? 'no tools' : `${count} ${count === 1 ? 'tool' : 'tools'} on its first page`
    return ok(`${JSON.stringify(name)} speaks ${spoken} and has ${tools}.`)
  },
}

/** Runs one connection from start to end. */
async function listAs(
  client: McpEra,
  config: BridgeConfig,
  { token, remembered, ...ports }: SessionPorts,
): Promise<Listing> {
  const listing: Listing = { config, client, memory: remembered }
  const [input, output] = [new PassThrough(), new PassThrough()]
  const proxy = new McpProxy(
    { ...config.proxy, retryMs: 0 },
    {
      ...ports,
      input,
      output,
      login: { tokens: fixedTokens(token) },
      openBrowser: () => false,
      memory: { read: () => remembered, write: (learned) => (listing.memory = learned) },
      describeFailure(error) {
        listing.failure = error
        return rpcFailure(error, failureContextOf(config))
      },
      say() {},
      note() {},
    },
  )
  const ended = proxy.run()
  const ask = createClient(input, output)
  try {
    listing.opened = listing.listed = await ask(...openings[client])
    if (client === 'legacy') input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    const { capabilities } = resultOf(listing.opened) ?? {}
    // Servers with prompts or resources only have no tools.
    if (isJsonObject(capabilities) && 'tools' in capabilities)
      listing.listed = await ask('tools/list', client === 'modern' ? claims : {})
    return listing
  } finally {
    proxy.stop('nothing more is asked')
    await ended
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
const openings: Record<McpEra, [method: string, params: JsonObject]> = {
  legacy: ['initialize', { protocolVersion: revisions.legacy, capabilities: {}, clientInfo }],
  modern: ['server/discover', claims],
}

/** Creates a client at the other end of a proxy. It resolves with the response, or undefined if none comes in time. */
function createClient(input: PassThrough, output: PassThrough) {
  const waiting = new Map<unknown, (response: JsonObject) => void>()
  createInterface({ input: output }).on('line', (line) => {
    const message = parseJsonObject(line)
    if (message !== undefined && !('method' in message)) waiting.get(message['id'])?.(message)
  })
  return (method: string, params: JsonObject): Promise<JsonObject | undefined> => {
    const id = waiting.size + 1
    const answer = createSignal<JsonObject>()
    waiting.set(id, answer.give)
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return within(answerMs, answer.given)
  }
}

function resultOf(response: JsonObject | undefined): JsonObject | undefined {
  const result = response?.['result']
  return isJsonObject(result) ? result : undefined
}

function isListed({ listed }: Listing): boolean {
  return resultOf(listed) !== undefined
}

/** The server has no 2026-07-28, so clients begin with `initialize`: no fault. */
function isUnsupported({ opened }: Listing): boolean {
  const error = opened?.['error']
  return isJsonObject(error) && error['code'] === mcpErrorCode.unsupportedProtocolVersion
}

function nameOf({ opened }: Listing): string | undefined {
  const result = resultOf(opened)
  const meta = result?.['_meta']
  const info = result?.['serverInfo'] ?? (isJsonObject(meta) ? meta[mcpMetaKey.serverInfo] : undefined)
  return isJsonObject(info) && typeof info['name'] === 'string' ? info['name'] : undefined
}

function revisionOf({ client, memory }: Listing): string {
  const settled = memory?.initializeResult?.['protocolVersion']
  if ((memory?.era ?? client) === 'modern') return revisions.modern
  return typeof settled === 'string' ? settled : revisions.legacy
}

function refusal({ config, client, listed, failure }: Listing): Outcome {
  const context = failureContextOf(config)
  if (failure instanceof TransportError && (failure.status === 401 || failure.status === 403)) {
    const { status } = failure
    const text = `The server does not accept the login (${status}).`
    if (config.fixedBy !== undefined)
      return failed(new TransportError('sign_in_needed', text, { status }), context)
    return fail(text, fill('drawbridge login {url} --force', context), exitCode.signInNeeded)
  }
  if (failure !== undefined) return failed(failure, context)
  const asked = `A client of ${revisions[client]} cannot list the tools`
  const fix = fill(
    'Tell the operator of the server. To see what a client gets: drawbridge {url} --debug',
    context,
  )
  if (listed === undefined) return fail(`${asked}: no answer within ${answerMs / 1000} s.`, fix)
  const { error } = listed
  const said = isJsonObject(error) ? error['message'] : undefined
  return fail(`${asked}: the server says ${JSON.stringify(String(said).slice(0, 200))}.`, fix)
}
