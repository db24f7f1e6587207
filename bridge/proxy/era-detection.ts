import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode } from '@drawbridge/shared/json-rpc.ts'
import { mcpErrorCode } from '@drawbridge/shared/mcp-protocol.ts'
import type { McpEra } from '@drawbridge/shared/mcp-protocol.ts'
import { RemoteError } from './remote-leg.ts'
import type { ServerMemory } from './server-memory.ts'
import type { WireMessage } from './wire-message.ts'

/** A memory that a server lacks an era is believed for a day: servers are upgraded. */
const believedSeconds = 86_400

/**
 * The era in which the first message goes to the server. Without a memory that is the era of the message itself, so that
 * the first request is the client's own and no probe. A server that was only ever met by legacy clients is offered the
 * newer era again.
 */
export function assumedEra(
  local: McpEra,
  pin: 'auto' | McpEra,
  memory: ServerMemory | undefined,
  now: number,
): McpEra {
  if (pin !== 'auto') return pin
  if (memory === undefined) return local
  if (memory.era === 'modern' || local === 'legacy') return memory.era
  const isKnownToLackModern = memory.without === 'modern' && now - memory.at < believedSeconds
  return isKnownToLackModern ? 'legacy' : 'modern'
}

/**
 * What a failed request in the modern era says about the server. Undefined is no evidence: what asks for a sign-in, an
 * outage, a limit. A server that knows the era names it by its error codes; any other 4xx, and a body that is no JSON-RPC,
 * is a server of the 2025 era (MCP 2026-07-28 versioning).
 */
export function eraByModernFailure(failure: unknown, method: string): McpEra | undefined {
  if (!(failure instanceof RemoteError)) return undefined
  const code = errorCode(failure.response)
  if (code !== undefined && isModernCode(code)) return 'modern'
  // An unknown method is a 404 with this code in the modern era. `server/discover` is known to all of that era.
  if (code === jsonRpcCode.methodNotFound && failure.status === 404 && method !== 'server/discover')
    return 'modern'
  return isAnswerOfAnotherKind(failure) ? 'legacy' : undefined
}

/** What the answer to `server/discover` says about the server. */
export function eraByDiscoverAnswer(answer: WireMessage): McpEra {
  const body = parseJsonObject(answer.bytes.toString('utf8'))
  const result = body?.['result']
  if (isJsonObject(result)) return Array.isArray(result['supportedVersions']) ? 'modern' : 'legacy'
  const code = errorCode(answer)
  // With 200, -32602 is how the Python SDK of the 2025 era answers a method that it does not know.
  return code !== undefined && code !== jsonRpcCode.invalidParams && isModernCode(code) ? 'modern' : 'legacy'
}

/**
 * Whether a failed `initialize` may come from a server of the modern era, so that it is worth asking `server/discover`. A
 * JSON-RPC error is worth it whatever its code: -32602 is what both eras answer to an `initialize` they do not like.
 */
export function mayBeModern(failure: unknown): boolean {
  return failure instanceof RemoteError && (failure.response !== undefined || isAnswerOfAnotherKind(failure))
    ? !isSignInOrOutage(failure)
    : false
}

/** Whether a failed POST in the 2025 era may come from a server that only has the transport of 2024-11-05. */
export function mayBeSseServer(failure: unknown): boolean {
  if (!(failure instanceof RemoteError)) return false
  const code = errorCode(failure.response)
  const isMcp = code !== undefined && (isModernCode(code) || code === jsonRpcCode.methodNotFound)
  return !isMcp && (failure.status === 400 || failure.status === 404 || failure.status === 405)
}

/** The versions that a server names in -32022, if that is what the answer is. */
export function supportedVersions(answer: WireMessage | undefined): readonly unknown[] | undefined {
  const error = errorOf(answer)
  if (error?.['code'] !== mcpErrorCode.unsupportedProtocolVersion) return undefined
  const data = error['data']
  const supported: unknown = isJsonObject(data) ? data['supported'] : undefined
  return Array.isArray(supported) ? supported : []
}

/** The code of a JSON-RPC error; undefined for anything else. */
export function errorCode(answer: WireMessage | undefined): number | undefined {
  const code = errorOf(answer)?.['code']
  return typeof code === 'number' ? code : undefined
}

function errorOf(answer: WireMessage | undefined): Record<string, unknown> | undefined {
  const body = answer === undefined ? undefined : parseJsonObject(answer.bytes.toString('utf8'))
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

function isAnswerOfAnotherKind(failure: RemoteError): boolean {
  const { fault, status = 400 } = failure
  if (fault === 'no_mcp') return true
  const isRefusal = status >= 400 && (fault === 'not_found' || fault === 'refused')
  return isRefusal && !isSignInOrOutage(failure)
}

function isSignInOrOutage({ fault, status }: RemoteError): boolean {
  if (fault === 'sign_in_needed' || fault === 'forbidden' || fault === 'unavailable') return true
  return status === 401 || status === 403 || status === 429 || (status !== undefined && status >= 500)
}
