import {
  type JSONRPCNotification,
  type JSONRPCRequest,
  type SpecTypeName,
  type SpecTypes,
  specTypeSchemas,
  type StandardSchemaV1Sync,
} from '@modelcontextprotocol/server'
import { z } from 'zod/v4'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, type JsonRpcErrorObject } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpErrorCode, mcpHeader, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { HeaderMismatch } from '../tools/header-check.ts'

/** The revision that a message belongs to, or why it belongs to none. */
export type PlainRoute =
  | { kind: 'rejected'; error: JsonRpcErrorObject }
  | { kind: 'earlier' }
  /** It names a revision in its envelope or, as a notification, in its header. */
  | { kind: 'named'; revision: string; message: JSONRPCRequest | JSONRPCNotification }

const earlier: PlainRoute = { kind: 'earlier' }

/**
 * Finds the revision of a message by its body, with the headers as a cross-check (MCP 2026-07-28 versioning). Batches and
 * responses belong to earlier revisions. Whether the named revision is supported is not checked.
 */
export function routeMessage(headers: Headers, body: unknown): PlainRoute {
  if (Array.isArray(body)) return routeBatch(body)
  if (isSpecType('JSONRPCRequest', body)) return routeRequest(headers, body)
  if (isSpecType('JSONRPCNotification', body)) return routeNotification(headers, body)
  if (isSpecType('JSONRPCResponse', body)) return earlier
  return invalidRequest('the request body is not a valid JSON-RPC message')
}

function isSpecType<Name extends SpecTypeName>(name: Name, value: unknown): value is SpecTypes[Name] {
  return specTypeSchemas[name]['~standard'].validate(value).issues === undefined
}

function routeBatch(messages: readonly unknown[]): PlainRoute {
  if (messages.length === 0) return invalidRequest('empty JSON-RPC batch')
  for (const message of messages) {
    if (isJsonObject(message) && claimOf(message['params'])) {
      return invalidRequest(
        'JSON-RPC batches may not contain requests for protocol revision 2026-07-28 or later',
      )
    }
    if (!isSpecType('JSONRPCMessage', message)) {
      return invalidRequest('JSON-RPC batch contains an invalid message')
    }
  }
  return earlier
}

function routeRequest(headers: Headers, message: JSONRPCRequest): PlainRoute {
  const { method, params } = message
  const named = headers.get(mcpHeader.protocolVersion)
  const claim = claimOf(params)
  const fault = claim && envelopeFault(claim)
  const revision = claim?.[mcpMetaKey.protocolVersion]
  if (method === 'initialize' && (fault || !isNewRevision(revision))) {
    const text = 'an initialize request (legacy handshake) was sent with a modern MCP-Protocol-Version header'
    return isNewRevision(named) ? mismatched(named, text) : earlier
  }
  if (fault) return faultyEnvelope(fault)
  if (typeof revision === 'string') {
    const wrong = claimMismatch(headers, message, revision, { envelope: 'body', message: 'body' })
    return wrong ?? { kind: 'named', revision, message }
  }
  return isNewRevision(named) ? missingEnvelope(named, params?._meta) : earlier
}

function routeNotification(headers: Headers, message: JSONRPCNotification): PlainRoute {
  const named = headers.get(mcpHeader.protocolVersion)
  const claim = claimOf(message.params)
  const revision = claim ? claim[mcpMetaKey.protocolVersion] : named
  if (typeof revision !== 'string') {
    // Only the revision is required of a notification's envelope.
    const fault = claim && envelopeFault({ [mcpMetaKey.clientCapabilities]: {}, ...claim })
    return fault ? faultyEnvelope(fault) : earlier
  }
  if (!claim && !isNewRevision(revision)) return earlier
  const names = { envelope: 'notification', message: 'notification body' }
  return claimMismatch(headers, message, revision, names) ?? { kind: 'named', revision, message }
}

/** Returns the contradiction between the headers and a message that names `revision`. */
function claimMismatch(
  headers: Headers,
  { method }: { method: string },
  revision: string,
  names: { envelope: string; message: string },
): PlainRoute | undefined {
  const version = headers.get(mcpHeader.protocolVersion)
  if (version !== null && version !== revision) {
    const claim = `the ${names.envelope} envelope names protocol version ${revision}`
    return mismatched(version, `${claim} but the MCP-Protocol-Version header names ${version}`)
  }
  const named = headers.get(mcpHeader.method)
  if (named === null || named === method) return undefined
  return mismatched(
    named,
    `the ${names.message} names method ${method} but the Mcp-Method header names ${named}`,
  )
}

/** The envelope of a message that names a revision. */
function claimOf(params: unknown): JsonObject | undefined {
  const meta = isJsonObject(params) ? params['_meta'] : undefined
  return isJsonObject(meta) && mcpMetaKey.protocolVersion in meta ? meta : undefined
}

function isNewRevision(revision: unknown): revision is string {
  return typeof revision === 'string' && revision >= modernRevision
}

interface EnvelopeFault {
  key: string
  problem: string
}

const requiredKeys: readonly string[] = [mcpMetaKey.protocolVersion, mcpMetaKey.clientCapabilities]
const envelopeMembers: readonly [string, StandardSchemaV1Sync][] = [
  [mcpMetaKey.clientInfo, specTypeSchemas.Implementation],
  [mcpMetaKey.clientCapabilities, specTypeSchemas.ClientCapabilities],
  [mcpMetaKey.logLevel, specTypeSchemas.LoggingLevel],
]

/** The first fault of an envelope (MCP 2026-07-28 basic, `_meta`). */
function envelopeFault(meta: JsonObject): EnvelopeFault | undefined {
  const missing = requiredKeys.find((key) => !(key in meta))
  if (missing !== undefined) return { key: missing, problem: 'missing' }
  const revision = z.string().safeParse(meta[mcpMetaKey.protocolVersion])
  if (!revision.success) {
    return { key: mcpMetaKey.protocolVersion, problem: revision.error.issues[0]?.message ?? '' }
  }
  for (const [key, schema] of envelopeMembers) {
    const [issue] = key in meta ? (schema['~standard'].validate(meta[key]).issues ?? []) : []
    if (issue) return { key: [key, ...(issue.path ?? []).map(String)].join('.'), problem: issue.message }
  }
  return undefined
}

function faultyEnvelope(envelope: EnvelopeFault): PlainRoute {
  const message = `Invalid _meta envelope for protocol revision 2026-07-28: ${envelope.key}: ${envelope.problem}`
  return { kind: 'rejected', error: { code: jsonRpcCode.invalidParams, message, data: { envelope } } }
}

function missingEnvelope(named: string, meta: unknown): PlainRoute {
  const missing = isJsonObject(meta) ? requiredKeys.filter((key) => !(key in meta)) : ['_meta']
  const message =
    `Invalid params: the MCP-Protocol-Version header names protocol revision ${named}, ` +
    `but the request is missing the required per-request envelope key(s): ${missing.join(', ')}`
  const data = { envelope: { missing } }
  return { kind: 'rejected', error: { code: jsonRpcCode.invalidParams, message, data } }
}

function invalidRequest(problem: string): PlainRoute {
  const message = `Bad Request: ${problem}`
  return { kind: 'rejected', error: { code: jsonRpcCode.invalidRequest, message } }
}

function mismatched(header: string, body: string): PlainRoute {
  return { kind: 'rejected', error: headerMismatchError({ header, body }) }
}

/** The error for headers that contradict the body. */
export function headerMismatchError(mismatch: HeaderMismatch): JsonRpcErrorObject {
  const message = `Bad Request: the request headers and body disagree: ${mismatch.body}`
  return { code: mcpErrorCode.headerMismatch, message, data: { mismatch } }
}
