import { isJsonObject, type JsonObject } from '../../json-object.ts'
import type { JsonRpcNotification } from '../json-rpc.ts'

/** The `notifications` parameter of `subscriptions/listen` (MCP 2026-07-28 subscriptions). An absent member means no. */
export interface SubscriptionFilter {
  toolsListChanged?: true
  promptsListChanged?: true
  resourcesListChanged?: true
  resourceSubscriptions?: readonly string[]
}

/** Each member of the filter, the notification it lets through, and the capability that announces it. */
const listKinds = [
  ['toolsListChanged', 'notifications/tools/list_changed', 'tools'],
  ['promptsListChanged', 'notifications/prompts/list_changed', 'prompts'],
  ['resourcesListChanged', 'notifications/resources/list_changed', 'resources'],
] as const

const updated = 'notifications/resources/updated'

/** Returns true for requests without a response until the subscription ends. */
export function isSubscription({ method }: { method: string }): boolean {
  return method === 'subscriptions/listen'
}

/** Reads a filter; undefined if it violates the schema. Unknown members are left out. */
export function readSubscriptionFilter(value: unknown): SubscriptionFilter | undefined {
  if (!isJsonObject(value)) return undefined
  const filter: SubscriptionFilter = {}
  for (const [name] of listKinds) {
    if (value[name] === true) filter[name] = true
    else if (value[name] !== undefined && value[name] !== false) return undefined
  }
  const uris = value['resourceSubscriptions']
  if (uris === undefined) return filter
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string')) return undefined
  return uris.length > 0 ? { ...filter, resourceSubscriptions: [...new Set(uris)] } : filter
}

/** The list changes that a server with these capabilities announces (`listChanged`). */
export function announcedFilter(capabilities: JsonObject): SubscriptionFilter {
  const filter: SubscriptionFilter = {}
  for (const [name, , capability] of listKinds) {
    if (declares(capabilities, capability, 'listChanged')) filter[name] = true
  }
  return filter
}

/** The part of `filter` that a server with these capabilities can honour. */
export function honouredFilter(filter: SubscriptionFilter, capabilities: JsonObject): SubscriptionFilter {
  const announced = announcedFilter(capabilities)
  const honoured: SubscriptionFilter = {}
  for (const [name] of listKinds) if (filter[name] && announced[name]) honoured[name] = true
  const uris = filter.resourceSubscriptions
  if (uris !== undefined && declares(capabilities, 'resources', 'subscribe'))
    honoured.resourceSubscriptions = uris
  return honoured
}

/** Returns true if the filter asks for no notification at all. */
export function isEmptyFilter(filter: SubscriptionFilter): boolean {
  return listKinds.every(([name]) => !filter[name]) && (filter.resourceSubscriptions ?? []).length === 0
}

/** Returns true for the four change notifications, which 2026-07-28 sends on `subscriptions/listen` streams only. */
export function isChangeNotification({ method }: JsonRpcNotification): boolean {
  return method === updated || listKinds.some(([, notification]) => notification === method)
}

/**
 * Returns true if the filter includes a notification. A server may name a part of the subscribed resource (MCP 2025-11-25
 * resources).
 */
export function acceptsNotification(
  filter: SubscriptionFilter,
  { method, params }: JsonRpcNotification,
): boolean {
  if (method !== updated)
    return listKinds.some(([name, notification]) => notification === method && filter[name] === true)
  const uri = params?.['uri']
  if (typeof uri !== 'string') return false
  return (filter.resourceSubscriptions ?? []).some(
    (own) => uri === own || uri.startsWith(own.endsWith('/') ? own : `${own}/`),
  )
}

function declares(capabilities: JsonObject, capability: string, member: string): boolean {
  const own = capabilities[capability]
  return isJsonObject(own) && own[member] === true
}
