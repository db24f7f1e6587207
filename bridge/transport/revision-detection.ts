import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import {
  isModernDiscovery,
  legacyRevisions,
  mcpErrorCode,
  modernRevision,
  type McpEra,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { TransportError } from './transport.ts'
import { answeredError } from './withheld-error.ts'

/**
 * Judges a server by a failed request of 2026-07-28. Undefined means no evidence: a sign-in, an outage, a rate limit. Error codes of
 * 2026-07-28 prove that revision; any other 4xx, and a body other than JSON-RPC, means a 2025 server (MCP 2026-07-28 versioning).
 */
export function eraByModernFailure(failure: unknown, method: string): McpEra | undefined {
  if (!(failure instanceof TransportError)) return undefined
  const { fault, status } = failure
  const byCode = eraByCode(failure, method)
  if (byCode !== undefined) return byCode
  // A JSON-RPC error with 200 is about the request. A call with another body in a 200 may have been executed.
  const mayBeDone = status === undefined || (fault === 'no_mcp' && method === 'tools/call')
  if (mayBeDone && method !== 'server/discover') return undefined
  return isAnswerOfAnotherKind(failure) ? 'legacy' : undefined
}

function eraByCode({ status, response }: TransportError, method: string): McpEra | undefined {
  const code = errorCode(response)
  switch (code) {
    case undefined:
      return undefined
    case mcpErrorCode.unsupportedProtocolVersion:
      return eraByVersions(supportedVersions(response) ?? [])
    case jsonRpcCode.methodNotFound:
      // In 2026-07-28 an unknown method is a 404 with this code. All servers of that revision know `server/discover`.
      return status === 404 && method !== 'server/discover' ? 'modern' : undefined
    case jsonRpcCode.invalidParams:
      // With 200, both revisions reject invalid requests with it.
      return status === undefined ? undefined : 'modern'
    default:
      return isModernCode(code) ? 'modern' : undefined
  }
}

/** Judges a server by its response to a request of 2026-07-28. */
export function eraByModernAnswer(answer: WireMessage, method: string): McpEra | undefined {
  if (method === 'server/discover') return eraByDiscoverAnswer(answer)
  const body = parseJsonObject(answer.text)
  const result = body?.['result']
  if (isJsonObject(result)) return 'resultType' in result ? 'modern' : undefined
  return eraByModernFailure(answeredError(answer), method)
}

/** Returns the revision that a response to `server/discover` speaks for; 2025-11-25 unless it shows the later one. */
export function eraByDiscoverAnswer(answer: WireMessage): McpEra {
  const body = parseJsonObject(answer.text)
  const result = body?.['result']
  if (isJsonObject(result)) return isModernDiscovery(result) ? 'modern' : 'legacy'
  const code = errorCode(answer)
  if (code === mcpErrorCode.unsupportedProtocolVersion) return eraByVersions(supportedVersions(answer) ?? [])
  // With 200, -32602 is how the Python SDK of the 2025 era answers a method that it does not know.
  return code !== undefined && code !== jsonRpcCode.invalidParams && isModernCode(code) ? 'modern' : 'legacy'
}

/** Judges by the versions in a -32022. A server that names none of ours still knows the code, which is of 2026-07-28. */
function eraByVersions(supported: readonly unknown[]): McpEra {
  if (supported.includes(modernRevision)) return 'modern'
  return legacyRevisions.some((revision) => supported.includes(revision)) ? 'legacy' : 'modern'
}

/**
 * Returns whether a failed `initialize` may come from a server of 2026-07-28, so that `server/discover` is worth a try. Any JSON-RPC
 * error is: both revisions reject an invalid `initialize` with -32602.
 */
export function mayBeModern(failure: unknown): boolean {
  if (!(failure instanceof TransportError) || isSignInOrOutage(failure)) return false
  return failure.response !== undefined || isAnswerOfAnotherKind(failure)
}

/** Returns whether a failed 2025 POST may come from a server that has HTTP+SSE of 2024-11-05 only. */
export function mayBeSseServer(failure: unknown): boolean {
  if (!(failure instanceof TransportError)) return false
  const code = errorCode(failure.response)
  const isMcp = code !== undefined && (isModernCode(code) || code === jsonRpcCode.methodNotFound)
  return !isMcp && (failure.status === 400 || failure.status === 404 || failure.status === 405)
}

/** Returns the versions in a -32022; undefined for any other answer. */
export function supportedVersions(answer: WireMessage | undefined): readonly unknown[] | undefined {
  const error = errorOf(answer)
  if (error?.['code'] !== mcpErrorCode.unsupportedProtocolVersion) return undefined
  const data = error['data']
  const supported: unknown = isJsonObject(data) ? data['supported'] : undefined
  return Array.isArray(supported) ? supported : []
}

/** Returns the code of a JSON-RPC error; undefined for anything else. */
export function errorCode(answer: WireMessage | undefined): number | undefined {
  const code = errorOf(answer)?.['code']
  return typeof code === 'number' ? code : undefined
}

function errorOf(answer: WireMessage | undefined): Record<string, unknown> | undefined {
  const body = answer === undefined ? undefined : parseJsonObject(answer.text)
  const error = body?.['error']
  return isJsonObject(error) ? error : undefined
}

function isModernCode(code: number): boolean {
  return (
    code === mcpErrorCode.headerMismatch ||
    code === mcpErrorCode.missingClientCapability ||
    code === mcpErrorCode.unsupportedProtocolVersion ||
    code === jsonRpcCode.invalidParams
  )
}

function isAnswerOfAnotherKind(failure: TransportError): boolean {
  const { fault, status = 400 } = failure
  if (fault === 'no_mcp') return true
  const isRefusal = status >= 400 && (fault === 'not_found' || fault === 'refused')
  return isRefusal && !isSignInOrOutage(failure)
}

function isSignInOrOutage({ status = 0 }: TransportError): boolean {
  return status === 401 || status === 403 || status === 429 || status >= 500
}
