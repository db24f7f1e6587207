import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { createSignal, within } from '@drawbridge/shared/async.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { legacyRevisions, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
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

/** The tools as a client sees them. */
interface Listing {
  config: BridgeConfig
  opened?: JsonObject | undefined
  /** The last response, of `tools/list` unless the server has no tools; undefined: none in time. */
  listed?: JsonObject | undefined
  /** The reports of the proxy. */
  failure?: unknown
  /** The proxy's memory of the server. */
  memory: ServerMemory | undefined
}

const answerMs = 20_000

export const sessionChecks: Checks<Listing> = {
  session(listing) {
    const { opened, listed } = listing
    const result = resultOf(listed)
    if (result === undefined) return refusal(listing)
    const info = resultOf(opened)?.['serverInfo']
    const name = isJsonObject(info) && typeof info['name'] === 'string' ? info['name'] : 'The server'
    const count = Array.isArray(result['tools']) ? result['tools'].length : 0
    const tools = count === 0 ? 'no tools' : `${count} ${count === 1 ? 'tool' : 'tools'} on its first page`
    return ok(`${JSON.stringify(name)} speaks ${revisionOf(listing)} and has ${tools}.`)
  },
}

/**
 * Lists the tools through the bridge itself as a client of 2025-11-25, which reaches servers of every revision. Looks at the first page,
 * renews no login and remembers nothing.
 */
export async function listTools(
  config: BridgeConfig,
  { token, remembered, ...ports }: SessionPorts,
): Promise<Listing> {
  const listing: Listing = { config, memory: remembered }
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
  const request = createClient(input, output)
  try {
    listing.opened = listing.listed = await request('initialize', {
      protocolVersion: legacyRevisions[0],
      capabilities: {},
      clientInfo: { name: 'drawbridge', version },
    })
    input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    const { capabilities } = resultOf(listing.opened) ?? {}
    // Servers with prompts or resources only have no tools.
    if (isJsonObject(capabilities) && 'tools' in capabilities)
      listing.listed = await request('tools/list', {})
    return listing
  } finally {
    proxy.stop('the check is done')
    await ended
  }
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

function revisionOf({ memory }: Listing): string {
  if (memory?.era === 'modern') return modernRevision
  const settled = memory?.initializeResult?.['protocolVersion']
  return typeof settled === 'string' ? settled : legacyRevisions[0]
}

function refusal({ config, listed, failure }: Listing): Outcome {
  const context = failureContextOf(config)
  if (failure instanceof TransportError && (failure.status === 401 || failure.status === 403)) {
    const { status } = failure
    const text = `The server does not accept the login (${status}).`
    if (config.fixedBy !== undefined)
      return failed(new TransportError('sign_in_needed', text, { status }), context)
    return fail(text, fill('drawbridge login {url} --force', context), exitCode.signInNeeded)
  }
  if (failure !== undefined) return failed(failure, context)
  const problem = 'The tools cannot be listed'
  const fix = fill(
    'Tell the operator of the server. To see what a client gets: drawbridge {url} --debug',
    context,
  )
  if (listed === undefined) return fail(`${problem}: no answer within ${answerMs / 1000} s.`, fix)
  const { error } = listed
  const said = isJsonObject(error) ? error['message'] : undefined
  return fail(`${problem}: the server says ${JSON.stringify(String(said).slice(0, 200))}.`, fix)
}
