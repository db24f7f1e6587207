import type { JsonObject } from '../../../json-object.ts'
import type { JsonRpcNotification } from '../../json-rpc.ts'
import { logSeverity } from '../../params.ts'
import type { Claims } from './claims.ts'

/** They name elicitations by id, and tasks: 2026-07-28 has neither. */
const removedNotifications: ReadonlySet<string> = new Set([
  'notifications/elicitation/complete',
  'notifications/tasks/status',
])

/**
 * A notification of a 2025 server for the client request with these claims; undefined if it must not be sent. Progress is
 * reported under `upstreamId` there, and under the client's own token here.
 */
export function toNotification2026(
  notification: JsonRpcNotification,
  claims: Claims,
  upstreamId: number,
): JsonRpcNotification | undefined {
  const { method, params } = notification
  if (removedNotifications.has(method)) return undefined
  if (method === 'notifications/message') return isWantedLog(params, claims) ? notification : undefined
  if (method !== 'notifications/progress') return notification
  const { progressToken } = claims
  if (progressToken === undefined || params?.['progressToken'] !== upstreamId) return undefined
  return { ...notification, params: { ...params, progressToken } }
}

/** Whether the request with these claims wants a log message with these parameters. */
export function isWantedLog(params: JsonObject | undefined, claims: Claims | undefined): boolean {
  const minimum = claims?.logSeverity
  const severity = logSeverity(params?.['level'])
  return minimum !== undefined && severity !== undefined && severity >= minimum
}
