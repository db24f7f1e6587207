import { isJsonObject, type JsonObject, parseJson } from '@drawbridge/shared/json-object.ts'
import { countMembers, type JsonStructure, structureOf } from '@drawbridge/shared/json-structure.ts'
import {
  type JsonRpcId,
  jsonRpcCode,
  jsonRpcError,
  parseJsonRpcMessage,
  requestIdOf,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey, transportErrorCode } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { callOf, maxNameLength } from '../../core/access/call-record.ts'
import { signedInText } from '../../core/tokens/sign-in-tool.ts'
import { readBody } from '../middleware/body.ts'
import type { TextResponse } from '@drawbridge/shared/text-response.ts'
import { httpError, json } from '../response.ts'

// Far more than any tool needs. Each step traverses the whole message, some more than once.
const maxDepth = 100

/** Counts members, objects and arrays. Each takes a hundred times as long as a byte of text. */
const maxMembers = 20_000

/** With any other charset or parameter an upstream could read another message from the same bytes (UTF-7, UTF-16). */
const jsonInUtf8 = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?;?[ \t]*$/i

/** As in the official SDK. */
const maxBatch = 100

export type MessageReading =
  | { kind: 'message'; message: unknown; text: string }
  | { kind: 'refused'; response: TextResponse }

/**
 * Reads the message of a request, of at most `maxBytes`. An upstream may get the same text, so anything two parsers could read
 * differently is refused before any decision. Does not check that it is an MCP message.
 */
export async function readMessage(request: Request, maxBytes: number): Promise<MessageReading> {
  const refuse = (response: TextResponse): MessageReading => ({ kind: 'refused', response })
  if (!jsonInUtf8.test(request.headers.get('content-type') ?? ''))
    return refuse(httpError('unsupported_media_type'))
  const body = await readBody(request, maxBytes)
  if (body.kind === 'too_large') return refuse(httpError('content_too_large'))
  // Clients on Windows begin with a byte order mark (RFC 8259 section 8.1): it goes no further.
  const text = body.kind === 'text' ? body.text.replace(/^\uFEFF/, '') : ''
  const structure = structureOf(text)
  const tooMuch = excessOf(structure)
  if (tooMuch !== undefined) return refuse(json(jsonRpcError(null, jsonRpcCode.invalidRequest, tooMuch), 400))
  const message = parseJson(text)
  if (message === undefined)
    return refuse(json(jsonRpcError(null, jsonRpcCode.parseError, 'The body is not valid JSON.'), 400))
  const fault = faultOf(message, structure)
  if (fault === undefined) return { kind: 'message', message, text }
  const code = fault === nameFault ? jsonRpcCode.invalidParams : jsonRpcCode.invalidRequest
  return refuse(json(jsonRpcError(requestIdOf(message), code, fault), 400))
}

function excessOf({ depth, containers, members }: JsonStructure): string | undefined {
  if (depth > maxDepth) return `The message is nested more than ${maxDepth} levels deep.`
  if (members <= maxMembers && containers <= maxMembers) return undefined
  return `The message has more than ${maxMembers} members, or objects and arrays. Send less at a time.`
}

/** Returns why a body is neither a message nor a batch (revision 2025-03-26). */
function faultOf(body: unknown, { members }: JsonStructure): string | undefined {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  if (messages.length > maxBatch) return `A batch may have at most ${maxBatch} messages.`
  const respeltNames = messages.flatMap(respeltMembers)
  if (respeltNames.length > 0) {
    return `Members of a message must be written in their own case: ${[...new Set(respeltNames)].join(', ')}.`
  }
  if (countMembers(body) !== members) return 'An object of a message must not repeat a member.'
  const ids = new Set<JsonRpcId>()
  for (const message of messages) {
    const parsed = parseJsonRpcMessage(message)
    if (parsed.kind === 'invalid') return `This is not a JSON-RPC message: ${parsed.reason}.`
    if (parsed.kind === 'notification' && callOf({ ...parsed.message, id: 0 }))
      return `${parsed.message.method} is a request and must have an id.`
    if (parsed.kind !== 'request') continue
    if (hasOddName(parsed.message)) return nameFault
    if (ids.has(parsed.message.id)) return 'Each request of a batch must have its own id.'
    ids.add(parsed.message.id)
  }
  return undefined
}

const nameFault = `A name must be a string of at most ${maxNameLength} characters, without control characters and without spaces at its ends.`

/** True for names that an upstream might cut short or trim: it would call another tool than the one checked here. */
function hasOddName({ method, params }: { method: string; params?: unknown }): boolean {
  if (method !== 'tools/call' && method !== 'prompts/get') return false
  const name = isJsonObject(params) ? params['name'] : undefined
  if (name === undefined || name === null) return false
  return typeof name !== 'string' || name.length > maxNameLength || /\p{Cc}|^\s|\s$/u.test(name)
}

const messageMembers = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']
/** Members that identify the call or its task. */
const paramMembers = ['name', 'uri', 'arguments', '_meta', 'taskId', 'notifications']

/**
 * Returns members that match those of a message except for case, such as `Name`. Some JSON libraries treat them as equal: an
 * upstream would call another tool, or ask about another task, than the one checked here.
 */
function respeltMembers(message: unknown): string[] {
  if (!isJsonObject(message)) return []
  const { params } = message
  if (!isJsonObject(params)) return respelt(message, messageMembers)
  return [
    ...respelt(message, messageMembers),
    ...respelt(params, paramMembers),
    ...respelt(params['notifications'], ['taskIds']),
    ...respelt(metaOf(params)[mcpMetaKey.relatedTask], ['taskId']),
  ]
}

function respelt(object: unknown, names: readonly string[]): string[] {
  if (!isJsonObject(object)) return []
  const folded = new Set(names.map(foldCase))
  return Object.keys(object).filter((name) => !names.includes(name) && folded.has(foldCase(name)))
}

/** Folds non-ASCII letters that lower-case to ASCII too: the long s, the Kelvin sign. */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase()
}

const openMethods: ReadonlySet<unknown> = new Set(['initialize', 'ping', 'server/discover', 'tools/list'])

/** True when a message or batch needs no sign-in: it only finds and calls public tools. */
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

/** Counts the requests of a message or batch that stay in progress until they are answered. A single subscription has its own limit. */
export function requestsUnderWay(message: unknown): number {
  const isRequest = (each: unknown): boolean =>
    isJsonObject(each) && typeof each['method'] === 'string' && each['id'] !== undefined
  if (Array.isArray(message)) return message.filter(isRequest).length
  return isRequest(message) && (message as JsonObject)['method'] !== 'subscriptions/listen' ? 1 : 0
}

/** The answer to a call of the tool that signs in, for a caller who has. */
export function signedInAnswer(message: unknown): TextResponse {
  const content = [{ type: 'text', text: signedInText }]
  // Clients of 2026-07-28 need the type; earlier ones pass over it.
  return json({ jsonrpc: '2.0', id: requestIdOf(message), result: { content, resultType: 'complete' } })
}

/** Refuses messages over the limit: one error for each request of the message. */
export function tooManyCalls(message: unknown, retryAfterSeconds: number): TextResponse {
  const text = `You are sending too much. Wait ${retryAfterSeconds} s, then try again.`
  const errorOf = (each: unknown): unknown[] => {
    const id = isJsonObject(each) ? each['id'] : undefined
    return typeof id === 'string' || typeof id === 'number'
      ? [jsonRpcError(id, transportErrorCode.refused, text)]
      : []
  }
  const body = Array.isArray(message) ? message.flatMap(errorOf) : errorOf(message)[0]
  return json(body, 429, { 'retry-after': String(retryAfterSeconds) })
}
