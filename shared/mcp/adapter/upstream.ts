import { isJsonObject, type JsonObject } from '../../json-object.ts'
import { jsonRpcCode } from '../json-rpc.ts'
import { legacyRevisions, mcpErrorCode, mcpMetaKey, modernRevision } from '../mcp-protocol.ts'
import { logSeverity, metaOf } from '../params.ts'
import { CallError } from './call-error.ts'
import { mapClientCapabilities, mapServerCapabilities } from './capabilities.ts'
import type { RequestOptions, RequestServer } from './ports.ts'
import type { Revision2025 } from './result.ts'

/** The latest declarations of a 2025 client, which a 2026-07-28 server expects with each request. */
export class DeclaredClient {
  capabilities: JsonObject = {}
  revision: Revision2025 = legacyRevisions[0]
  #info: JsonObject | undefined
  #logLevel: unknown

  /** Replaces everything by the parameters of `initialize`. */
  initialize(params: JsonObject | undefined): void {
    const info = params?.['clientInfo']
    this.#info = isJsonObject(info) ? info : undefined
    this.capabilities = mapClientCapabilities(params?.['capabilities'])
    const requested = params?.['protocolVersion']
    this.revision = legacyRevisions.find((known) => known === requested) ?? legacyRevisions[0]
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
      [mcpMetaKey.clientCapabilities]: this.capabilities,
      ...(this.#logLevel !== undefined && { [mcpMetaKey.logLevel]: this.#logLevel }),
    }
  }
}

/** A 2026-07-28 server, called on behalf of one client. */
export class Upstream2026 {
  readonly #request: RequestServer
  readonly #declared: DeclaredClient
  #discovered: Promise<JsonObject> | undefined

  constructor(request: RequestServer, declared: DeclaredClient, discovered: JsonObject | undefined) {
    this.#request = request
    this.#declared = declared
    this.#discovered = discovered && Promise.resolve(discovered)
  }

  /**
   * Sends a request with the client's claims in `_meta`. Throws {@link CallError} for an error response or a result that is not an
   * object, and any other failure as it is.
   */
  async request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject> {
    const withClaims = { ...params, _meta: { ...metaOf(params), ...this.#declared.claims() } }
    const result = await this.#request(method, withClaims, options).catch((failure: unknown) => {
      throw failure instanceof CallError ? toError2025(failure, method, params) : failure
    })
    if (isJsonObject(result)) return result
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
  { code, message, data }: CallError,
  method: string,
  params: JsonObject | undefined,
): CallError {
  const isResource = method === 'resources/read' && typeof params?.['uri'] === 'string'
  if (isResource && code === jsonRpcCode.invalidParams)
    return new CallError(mcpErrorCode.resourceNotFound, message, data)
  const isNew = code <= mcpErrorCode.headerMismatch && code >= -32_099
  return new CallError(isNew ? jsonRpcCode.internalError : code, message, data)
}
