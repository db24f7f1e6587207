import { isJsonObject, type JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import { legacyRevisions, mcpMetaKey, modernRevision } from '../../mcp-protocol.ts'
import { CallError } from '../call-error.ts'
import { mapClientCapabilities } from '../capabilities.ts'
import { logSeverity } from '../../params.ts'
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
