import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { hasRepeatedMember, isDeeperThan } from '@drawbridge/shared/json-structure.ts'
import {
  type JsonRpcId,
  jsonRpcCode,
  jsonRpcError,
  parseJsonRpcMessage,
  requestIdOf,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { callOf } from '../core/tokens/call-record.ts'
import { httpError } from './http-error.ts'
import { mediaType, readBody } from './middleware/body.ts'
import { json } from './response.ts'

// Far more than any tool needs. Whatever processes a message walks through all of it, sometimes more than once.
const maxDepth = 100

/** As in the official SDK. */
const maxBatch = 100

/** The JSON-RPC message or batch of a request and its text, or why there is none. */
export type MessageReading =
  | { kind: 'message'; message: unknown; text: string }
  | { kind: 'refused'; response: Response }

/**
 * Reads the message of a request, of at most `maxBytes`. An MCP server behind this one may get the same text: what two readers could
 * understand differently is refused before anything is judged. That it is a message of MCP is not checked.
 */
export async function readMessage(request: Request, maxBytes: number): Promise<MessageReading> {
  const refuse = (response: Response): MessageReading => ({ kind: 'refused', response })
  if (mediaType(request) !== 'application/json') return refuse(httpError('unsupported_media_type'))
  const body = await readBody(request, maxBytes)
  if (body.kind === 'too_large') return refuse(httpError('content_too_large'))
  const text = body.kind === 'text' ? body.text : ''
  if (isDeeperThan(maxDepth, text)) {
    const why = `The message is nested more than ${maxDepth} levels deep.`
    return refuse(json(jsonRpcError(null, jsonRpcCode.invalidRequest, why), 400))
  }
  const message = parseJson(text)
  if (message === undefined)
    return refuse(json(jsonRpcError(null, jsonRpcCode.parseError, 'The body is not valid JSON.'), 400))
  const fault = faultOf(message, text)
  if (fault === undefined) return { kind: 'message', message, text }
  return refuse(json(jsonRpcError(requestIdOf(message), jsonRpcCode.invalidRequest, fault), 400))
}

/** Why a body is neither a message nor a batch, which revision 2025-03-26 has. */
function faultOf(body: unknown, text: string): string | undefined {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  if (messages.length > maxBatch) return `A batch has at most ${maxBatch} messages.`
  const respelt = messages.flatMap(respeltMembers)
  if (respelt.length > 0) {
    return `Members of a message are spelt in small letters: ${[...new Set(respelt)].join(', ')}.`
  }
  if (hasRepeatedMember(text, body)) return 'An object of a message has each member once.'
  const ids = new Set<JsonRpcId>()
  for (const message of messages) {
    const parsed = parseJsonRpcMessage(message)
    if (parsed.kind === 'invalid') return `This is not a JSON-RPC message: ${parsed.reason}.`
    if (parsed.kind === 'notification' && callOf({ ...parsed.message, id: 0 }))
      return `${parsed.message.method} is a request, and has an id.`
    if (parsed.kind !== 'request') continue
    if (ids.has(parsed.message.id)) return 'Each request of a batch has an id of its own.'
    ids.add(parsed.message.id)
  }
  return undefined
}

const messageMembers: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
/** Those that say what a call is of. */
const paramMembers: ReadonlySet<string> = new Set(['name', 'uri', 'arguments', '_meta'])

/**
 * Members that are those of a message but for the case of letters, as `Name`. Some JSON libraries take them for the same: a server behind
 * this one would call another tool than the one that was judged here.
 */
function respeltMembers(message: unknown): string[] {
  if (!isJsonObject(message)) return []
  const { params } = message
  const respelt = (object: object, known: ReadonlySet<string>): string[] =>
    Object.keys(object).filter((name) => !known.has(name) && known.has(foldCase(name)))
  return [...respelt(message, messageMembers), ...(isJsonObject(params) ? respelt(params, paramMembers) : [])]
}

/** Unicode has letters that are not ASCII and fold to it: the long s, the Kelvin sign. */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** What an anonymous client may ask to find the public tools. */
const openMethods: ReadonlySet<unknown> = new Set(['initialize', 'ping', 'server/discover', 'tools/list'])

/** Whether nothing in a message or batch takes a sign-in: it only finds and calls public tools. */
export function isOpen(message: unknown, publicTools: ReadonlySet<string>): boolean {
  if (Array.isArray(message)) return message.length > 0 && message.every((each) => isOpen(each, publicTools))
  if (!isJsonObject(message)) return false
  const { id, method, params } = message
  if (typeof method !== 'string') return false
  if (id === undefined) return method.startsWith('notifications/')
  if (method !== 'tools/call') return openMethods.has(method)
  const name = isJsonObject(params) ? params['name'] : undefined
  return typeof name === 'string' && publicTools.has(name)
}
