import { isJsonObject, type JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import { legacyRevisions, mcpMetaKey, modernRevision } from '../../mcp-protocol.ts'
import { logSeverity, metaOf } from '../../params.ts'
import { CallError, resultOf, toError2025 } from '../call-error.ts'
import { mapClientCapabilities, mapServerCapabilities } from '../capabilities.ts'
import type { RequestOptions, Server2026 } from '../ports.ts'
import type { Revision2025 } from './result.ts'

/** The latest declarations of a 2025 client, which a 2026-07-28 server expects with each request. */
export class DeclaredClient {
  #info: JsonObject | undefined
  #capabilities: JsonObject = {}
  #revision: Revision2025 = legacyRevisions[0]
  #logLevel: unknown

  get capabilities(): JsonObject {
    return this.#capabilities
  }

  get revision(): Revision2025 {
    return this.#revision
  }

  /** Replaces everything by the parameters of `initialize`. */
  initialize(params: JsonObject | undefined): void {
    const info = params?.['clientInfo']
    this.#info = isJsonObject(info) ? info : undefined
    this.#capabilities = mapClientCapabilities(params?.['capabilities'])
    const requested = params?.['protocolVersion']
    this.#revision = legacyRevisions.find((known) => known === requested) ?? legacyRevisions[0]
    this.#logLevel = undefined
  }

  /** Throws {@link CallError} for an unknown level, with which the server would refuse every later request. */
  setLogLevel(level: unknown): void {
    if (logSeverity(level) === undefined)
      throw new CallError(jsonRpcCode.invalidParams, 'The log level is unknown.')
    this.#logLevel = level
  }

  /** The reserved members of `_meta` in a 2026-07-28 request. */
  claims(): JsonObject {
    return {
      [mcpMetaKey.protocolVersion]: modernRevision,
      ...(this.#info && { [mcpMetaKey.clientInfo]: this.#info }),
      [mcpMetaKey.clientCapabilities]: this.#capabilities,
      ...(this.#logLevel !== undefined && { [mcpMetaKey.logLevel]: this.#logLevel }),
    }
  }
}

/** A 2026-07-28 server, called on behalf of one client. */
export class Upstream2026 {
  readonly #server: Server2026
  readonly #declared: DeclaredClient
  #lastId = 0
  #discovered: Promise<JsonObject> | undefined

  constructor(server: Server2026, declared: DeclaredClient, discovered: JsonObject | undefined) {
    this.#server = server
    this.#declared = declared
    this.#discovered = discovered && Promise.resolve(discovered)
  }

  /** Sends a request under a new id, with the client's claims in `_meta`. Throws as {@link resultOf} does. */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject> {
    this.#lastId += 1
    const withClaims = { ...params, _meta: { ...metaOf(params), ...this.#declared.claims() } }
    return resultOf(
      this.#server.request({ jsonrpc: '2.0', id: this.#lastId, method, params: withClaims }, options),
      this.#server,
      (error) => toError2025(error, method, params),
    )
  }

  /** The result of `server/discover`, requested once. A failure is not kept. */
  discover(): Promise<JsonObject> {
    this.#discovered ??= this.request('server/discover').catch((error: unknown) => {
      this.#discovered = undefined
      throw error
    })
    return this.#discovered
  }

  /** The capabilities of the server, in the form for a 2025 client. */
  async capabilities(): Promise<JsonObject> {
    return mapServerCapabilities((await this.discover())['capabilities'])
  }
}
