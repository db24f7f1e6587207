import { isJsonObject, type JsonObject } from '../../json-object.ts'
import { jsonRpcCode, type JsonRpcErrorObject } from '../json-rpc.ts'
import { legacyRevisions, mcpErrorCode, mcpMetaKey, modernRevision } from '../mcp-protocol.ts'
import { logSeverity, metaOf } from '../params.ts'
import { CallError } from './call-error.ts'
import { mapClientCapabilities, mapServerCapabilities } from './capabilities.ts'
import type { RequestOptions, Server2026 } from './ports.ts'
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

  /**
   * Sends a request under a new id, with the client's claims in `_meta`. An error in the body of a 4xx counts as a response. Throws
   * {@link CallError} for an error response or a result that is not an object, and any other failure as it is.
   */
  async request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject> {
    this.#lastId += 1
    const withClaims = { ...params, _meta: { ...metaOf(params), ...this.#declared.claims() } }
    const message = { jsonrpc: '2.0' as const, id: this.#lastId, method, params: withClaims }
    const response = await this.#server.request(message, options).catch((failure: unknown) => {
      const body = this.#server.errorResponse(failure)
      if (body === undefined) throw failure
      return body
    })
    if ('error' in response) throw toError2025(response.error, method, params)
    if (isJsonObject(response.result)) return response.result
    throw new CallError(jsonRpcCode.internalError, 'The server sent a result that is not an object.')
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

/**
 * The error for a 2025 client, which expects -32002 for a missing resource instead of -32602, and does not know the codes that
 * 2026-07-28 added (-32020 to -32099).
 */
function toError2025(
  { code, message, data }: JsonRpcErrorObject,
  method: string,
  params: JsonObject | undefined,
): CallError {
  const isResource = method === 'resources/read' && typeof params?.['uri'] === 'string'
  if (isResource && code === jsonRpcCode.invalidParams)
    return new CallError(mcpErrorCode.resourceNotFound, message, data)
  const isNew = code <= mcpErrorCode.headerMismatch && code >= -32_099
  return new CallError(isNew ? jsonRpcCode.internalError : code, message, data)
}
