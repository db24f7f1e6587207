import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { isDeeperThan } from '@drawbridge/shared/json-depth.ts'
import { jsonRpcCode, jsonRpcError, parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { httpError } from './http-error.ts'
import { mediaType, readBody } from './middleware/body.ts'
import { json } from './response.ts'

// Far more than any tool needs. Whatever processes a message walks through all of it, sometimes more than once.
const maxDepth = 100

/** The JSON-RPC message or batch of a request and its text, or why there is none. */
export type MessageReading =
  | { kind: 'message'; message: unknown; text: string }
  | { kind: 'refused'; response: Response }

/** Reads the message of a request, of at most `maxBytes`. That it is one of MCP is not checked, nor what is in a batch. */
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
  const refused = refuseMessage(message)
  return refused ? refuse(refused) : { kind: 'message', message, text }
}

/** The JSON-RPC error for a body that is not a message. Arrays pass: revision 2025-03-26 has batches. */
function refuseMessage(message: unknown): Response | undefined {
  const respelt = (Array.isArray(message) ? message : [message]).flatMap(respeltMembers)
  if (respelt.length > 0) {
    const why = `Members of a message are spelt in small letters: ${[...new Set(respelt)].join(', ')}.`
    return json(jsonRpcError(null, jsonRpcCode.invalidRequest, why), 400)
  }
  const parsed = Array.isArray(message) ? undefined : parseJsonRpcMessage(message)
  return parsed?.kind === 'invalid'
    ? json(
        jsonRpcError(
          parsed.id,
          jsonRpcCode.invalidRequest,
          `This is not a JSON-RPC message: ${parsed.reason}.`,
        ),
        400,
      )
    : undefined
}

const messageMembers: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
/** Those that say what a call is of. */
const paramMembers: ReadonlySet<string> = new Set(['name', 'uri', 'arguments', '_meta'])

/**
 * Members that are those of a message but for the case of letters, as `Name`. Some JSON libraries, of an MCP server behind this one, take
 * them for the same: it would call another tool than the one that was judged here.
 */
function respeltMembers(message: unknown): string[] {
  if (!isJsonObject(message)) return []
  const { params } = message
  const respelt = (object: object, known: ReadonlySet<string>): string[] =>
    Object.keys(object).filter((name) => !known.has(name) && known.has(name.toLowerCase()))
  return [...respelt(message, messageMembers), ...(isJsonObject(params) ? respelt(params, paramMembers) : [])]
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
