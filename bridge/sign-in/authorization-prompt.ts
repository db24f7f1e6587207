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

/** Returns the name of the sign-in tool; another one if the server has a tool of that name. */
export function signInToolName(tools: readonly JsonObject[]): string {
  return tools.some((tool) => tool['name'] === 'sign_in') ? 'drawbridge_sign_in' : 'sign_in'
}

/** Makes a result of `tools/list`: the remembered tools and the sign-in tool. */
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

/** Makes an elicitation of the link in URL mode (MCP 2025-11-25), with this id. */
export function elicitationRequest(id: string, prompt: AuthorizationPrompt): JsonRpcRequest {
  const params = { ...urlElicitation(prompt), elicitationId: id }
  return { jsonrpc: '2.0', id, method: 'elicitation/create', params }
}

/** Makes the notification that the sign-in has ended (MCP 2025-11-25). */
export function elicitationComplete(elicitationId: string): JsonRpcNotification {
  return { jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId } }
}

/** Makes the result that asks for the same in 2026-07-28. */
export function inputRequired(requestState: string, prompt: AuthorizationPrompt): JsonObject {
  const request = { method: 'elicitation/create', params: urlElicitation(prompt) }
  return { resultType: 'input_required', inputRequests: { [requestState]: request }, requestState }
}

/** The first message of every subscription (MCP 2026-07-28). */
const acknowledgedMethod = 'notifications/subscriptions/acknowledged'

export function isAcknowledgement({ envelope }: WireMessage): boolean {
  return envelope.kind === 'notification' && envelope.method === acknowledgedMethod
}

/** Acknowledges a subscription to everything requested. */
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

/** Marks our own values of `requestState` and our own elicitation ids. */
export const signInStatePrefix = 'drawbridge-sign-in-'

/** Removes our own `requestState` and its input responses from a request: the server must not see them. */
export function withoutSignInState(message: JsonRpcMessage): JsonRpcMessage {
  if (!('method' in message) || message.params === undefined) return message
  const { requestState, inputResponses: _, ...params } = message.params
  const isOurs = typeof requestState === 'string' && requestState.startsWith(signInStatePrefix)
  return isOurs ? { ...message, params } : message
}

/** Returns the text for a user. `failure`: the last sign-in's error; `toolName`: the sign-in tool, if it is listed. */
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

/** Adds the members that the revision requires; `isCacheable` for lists. */
export function inEra(result: JsonObject, era: McpEra, isCacheable: boolean): JsonObject {
  if (era === 'legacy') return result
  return {
    resultType: 'complete',
    ...result,
    ...(isCacheable ? { ttlMs: 0, cacheScope: 'private' } : {}),
  }
}

/** Returns whether a client supports URL elicitation, by its `initialize` (MCP 2025-11-25) or this request (2026-07-28). */
export function offersUrlElicitation({ method, params }: JsonRpcRequest): boolean {
  if (method === 'initialize') return hasUrlMode(params?.['capabilities'])
  const meta = params?.['_meta']
  return isJsonObject(meta) && hasUrlMode(meta[mcpMetaKey.clientCapabilities])
}

/** Returns whether the user accepted an elicitation. */
export function isAccepted(answer: unknown): boolean {
  return isJsonObject(answer) && answer['action'] === 'accept'
}

function hasUrlMode(capabilities: unknown): boolean {
  const elicitation = isJsonObject(capabilities) ? capabilities['elicitation'] : undefined
  return isJsonObject(elicitation) && isJsonObject(elicitation['url'])
}
