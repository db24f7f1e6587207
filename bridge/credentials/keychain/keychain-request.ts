import { parseJsonObject } from '@drawbridge/shared/json-object.ts'

/** What the helper is asked on its standard input. */
export type KeychainRequest =
  | { operation: 'read' | 'remove' | 'probe'; account: string }
  | { operation: 'write'; account: string; value: string }

/** What the helper answers on its standard output: one line of JSON. */
export type KeychainAnswer = { kind: 'done'; value: string | null } | { kind: 'failed'; message: string }

/** Undefined when it is no request. */
export function parseKeychainRequest(text: string): KeychainRequest | undefined {
  const { operation, account, value } = parseJsonObject(text) ?? {}
  if (typeof account !== 'string') return undefined
  if (operation === 'read' || operation === 'remove' || operation === 'probe') return { operation, account }
  return operation === 'write' && typeof value === 'string' ? { operation, account, value } : undefined
}

/** Undefined when the helper died before it had answered. */
export function parseKeychainAnswer(text: string): KeychainAnswer | undefined {
  const { kind, value, message } = parseJsonObject(text) ?? {}
  if (kind === 'done' && (value === null || typeof value === 'string')) return { kind, value }
  return kind === 'failed' && typeof message === 'string' ? { kind, message } : undefined
}
