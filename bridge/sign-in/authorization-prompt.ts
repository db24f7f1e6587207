import {
  type WireMessage,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpMetaKey, type McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { AuthorizationPrompt } from '../http/http-client.ts'
import { linkOf, signInLine, unconfirmedText } from './sign-in-attempt.ts'

/** The name of the tool that hands out the link, unless the server has one of that name. */
export function signInToolName(tools: readonly JsonObject[]): string {
  return tools.some((tool) => tool['name'] === 'sign_in') ? 'drawbridge_sign_in' : 'sign_in'
}

/** Makes a result of `tools/list`: what the server had when it was last seen, and the tool to sign in. */
export function toolsWithSignIn(tools: readonly JsonObject[], era: McpEra): JsonObject {
  const signIn = {
    name: signInToolName(tools),
    title: 'Sign in',
    description:
      'The server needs a sign-in before its tools work. Returns the link that the user has to open; call it again to wait until the sign-in is done.',
    inputSchema: { type: 'object', properties: {} },
  }
  return inEra({ tools: [...tools, signIn] }, era, true)
}

export function toolText(text: string, isError: boolean, era: McpEra): JsonObject {
  return inEra({ content: [{ type: 'text', text }], ...(isError ? { isError } : {}) }, era, false)
}

/** A request of the server to open the link (MCP 2025-11-25 elicitation, URL mode), under that id. */
export function elicitationRequest(id: string, prompt: AuthorizationPrompt): JsonRpcRequest {
  const params = { ...urlElicitation(prompt), elicitationId: id }
  return { jsonrpc: '2.0', id, method: 'elicitation/create', params }
}

/** Tells that the person is through (MCP 2025-11-25). */
export function elicitationComplete(elicitationId: string): JsonRpcNotification {
  return { jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId } }
}

/** A result that asks for the same, in the era of 2026-07-28. */
export function inputRequired(requestState: string, prompt: AuthorizationPrompt): JsonObject {
  const request = { method: 'elicitation/create', params: urlElicitation(prompt) }
  return { resultType: 'input_required', inputRequests: { [requestState]: request }, requestState }
}

/** The first message of every subscription (MCP 2026-07-28). */
const acknowledgedMethod = 'notifications/subscriptions/acknowledged'

export function isAcknowledgement({ envelope }: WireMessage): boolean {
  return envelope.kind === 'notification' && envelope.method === acknowledgedMethod
}

/** Takes a subscription to everything that was asked for. */
export function subscriptionAcknowledged({ id, params }: JsonRpcRequest): JsonRpcNotification {
  const notifications = params?.['notifications'] ?? {}
  return subscriptionNotice(acknowledgedMethod, id, { notifications })
}

/** Returns a notification that belongs to the open `subscriptions/listen` request with that id. */
export function subscriptionNotice(
  method: string,
  listenId: JsonRpcId,
  params: JsonObject = {},
): JsonRpcNotification {
  return { jsonrpc: '2.0', method, params: { ...params, _meta: { [mcpMetaKey.subscriptionId]: listenId } } }
}

/** How our own `requestState` begins, and the ids of our own elicitations. */
export const signInStatePrefix = 'drawbridge-sign-in-'

/** A request as it was before the client was asked for the sign-in: what it says of that is not for the server. */
export function withoutSignInState(message: JsonRpcMessage): JsonRpcMessage {
  if (!('method' in message) || message.params === undefined) return message
  const { requestState, inputResponses: _, ...params } = message.params
  const isOurs = typeof requestState === 'string' && requestState.startsWith(signInStatePrefix)
  return isOurs ? { ...message, params } : message
}

/** Returns the text for a person. `failure` is what the last sign-in failed with; `toolName` the tool to sign in, where it is listed. */
export function signInText(
  prompt: AuthorizationPrompt | undefined,
  failure: string | undefined,
  toolName: string | undefined,
): string {
  if (prompt !== undefined)
    return `This server needs a sign-in. ${signInLine(prompt)}\nThen call the tool again.`
  const again = toolName === undefined ? 'Call the tool again' : `Call the tool ${toolName}`
  if (failure === undefined)
    return `This server needs a sign-in, which is being prepared. ${again} for the link.`
  const later = toolName === undefined ? ' in half a minute' : ''
  return `This server needs a sign-in, and the last one failed: ${failure} ${again}${later} to begin a new one.`
}

function urlElicitation(prompt: AuthorizationPrompt): JsonObject {
  return { mode: 'url', message: elicitationText(prompt), url: linkOf(prompt) }
}

function elicitationText(prompt: AuthorizationPrompt): string {
  const warning = unconfirmedText(prompt)
  if (prompt.kind === 'browser') return `${warning}This server needs a sign-in.`
  const code = prompt.completeUrl === undefined ? ` The code is ${prompt.userCode}.` : ''
  return `${warning}${prompt.askedBy} asks you to sign in.${code}`
}

/** A result with the members that the revision of the server wants; `isCacheable` of a list. */
export function inEra(result: JsonObject, era: McpEra, isCacheable: boolean): JsonObject {
  if (era === 'legacy') return result
  return {
    resultType: 'complete',
    ...result,
    ...(isCacheable ? { ttlMs: 0, cacheScope: 'private' } : {}),
  }
}

/** Returns whether a client can be asked to open a link: by its `initialize` (MCP 2025-11-25), or by this request (2026-07-28). */
export function offersUrlElicitation({ method, params }: JsonRpcRequest): boolean {
  if (method === 'initialize') return hasUrlMode(params?.['capabilities'])
  const meta = params?.['_meta']
  return isJsonObject(meta) && hasUrlMode(meta[mcpMetaKey.clientCapabilities])
}

/** Returns whether an answer to an elicitation says that the link is open. */
export function isAccepted(answer: unknown): boolean {
  return isJsonObject(answer) && answer['action'] === 'accept'
}

function hasUrlMode(capabilities: unknown): boolean {
  const elicitation = isJsonObject(capabilities) ? capabilities['elicitation'] : undefined
  return isJsonObject(elicitation) && isJsonObject(elicitation['url'])
}
