import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { within } from '@drawbridge/shared/async.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { legacyRevisions, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, fail, ok, type Outcome } from '@drawbridge/shared/terminal/check.ts'
import type { BridgeConfig } from '../../config/config.ts'
import { version } from '../../config/version.ts'
import { McpProxy, type McpProxyPorts } from '../../proxy/proxy.ts'
import type { ServerMemory } from '../../transport/server-memory.ts'
import { TransportError } from '../../transport/transport.ts'
import { exitCode } from '../failure/failure-table.ts'
import { failureContextOf, fill, rpcFailure } from '../failure/failure-text.ts'
import { failed } from './finding.ts'

interface SessionPorts {
  http: McpProxyPorts['http']
  runtime: Runtime
  /** The login; undefined where the headers of the configuration are enough. */
  token: string | undefined
  /** Memory of earlier connections, which decides how a connection begins. */
  remembered: ServerMemory | undefined
}

/** The tools as a client sees them. */
interface Listing {
  config: BridgeConfig
  opened: JsonObject | undefined
  /** The last response, of `tools/list` unless the server has no tools; undefined: none in time. */
  listed: JsonObject | undefined
  /** What the proxy reported. */
  failure: unknown
  /** What the proxy has learned about the server. */
  memory: ServerMemory | undefined
}

const answerMs = 20_000

/**
 * Lists the tools as a client of 2025-11-25 does, through the bridge itself. Looks at the first page, renews no login and
 * remembers nothing.
 */
export async function listTools(
  config: BridgeConfig,
  { token, remembered, ...ports }: SessionPorts,
): Promise<Listing> {
  const listing: Listing = {
    config,
    opened: undefined,
    listed: undefined,
    failure: undefined,
    memory: remembered,
  }
  const [input, output] = [new PassThrough(), new PassThrough()]
  const proxy = new McpProxy(
    { ...config.proxy, retryMs: 0 },
    {
      ...ports,
      input,
      output,
      login: {
        tokens: {
          authorization: async () => (token === undefined ? undefined : { header: `Bearer ${token}` }),
          refused: async () => ({ kind: 'sign_in_needed' }),
        },
      },
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
  const lines = createInterface({ input: output })[Symbol.asyncIterator]()
  const ask = (id: number, method: string, params: JsonObject): Promise<JsonObject | undefined> => {
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return within(answerMs, answerTo(id, lines))
  }
  try {
    listing.opened = listing.listed = await ask(1, 'initialize', opening)
    input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    const { capabilities } = resultOf(listing.opened) ?? {}
    // Servers of prompts or resources alone have no tools.
    if (isJsonObject(capabilities) && 'tools' in capabilities) listing.listed = await ask(2, 'tools/list', {})
    return listing
  } finally {
    proxy.stop('nothing more is asked')
    await ended
  }
}

const opening: JsonObject = {
  protocolVersion: legacyRevisions[0],
  capabilities: {},
  clientInfo: { name: 'drawbridge', version },
}

async function answerTo(id: number, lines: AsyncIterator<string>): Promise<JsonObject | undefined> {
  for (;;) {
    const { value, done } = await lines.next()
    if (done) return undefined
    const message = parseJsonObject(value)
    if (message?.['id'] === id && !('method' in message)) return message
  }
}

export const sessionChecks: Checks<Listing> = {
  session(listing) {
    const { opened, listed, memory } = listing
    const result = resultOf(listed)
    if (result === undefined) return refusal(listing)
    const { serverInfo, protocolVersion } = resultOf(opened) ?? {}
    const named = isJsonObject(serverInfo) ? serverInfo['name'] : undefined
    const name = typeof named === 'string' ? named : 'The server'
    const revision = memory?.era === 'modern' ? modernRevision : protocolVersion
    const count = Array.isArray(result['tools']) ? result['tools'].length : 0
    const tools = count === 0 ? 'no tools' : `${count} ${count === 1 ? 'tool' : 'tools'} on its first page`
    return ok(`${JSON.stringify(name)} speaks ${String(revision)} and has ${tools}.`)
  },
}

function resultOf(response: JsonObject | undefined): JsonObject | undefined {
  const result = response?.['result']
  return isJsonObject(result) ? result : undefined
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
  const fix = fill('Tell the operator of the server. What a client sees: drawbridge {url} --debug', context)
  if (listed === undefined)
    return fail(`The tools cannot be listed: no answer within ${answerMs / 1000} s.`, fix)
  const { error } = listed
  const said = isJsonObject(error) ? error['message'] : undefined
  return fail(
    `The tools cannot be listed: the server says ${JSON.stringify(String(said).slice(0, 200))}.`,
    fix,
  )
}
