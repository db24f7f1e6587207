import { addressLimits, type AttemptLimitPorts, countWithin } from '../access/attempt-limit.ts'
import { registrations } from '../access/limit-table.ts'

/**
 * Hosts that hosted assistants send people back to. All of their users register from few addresses, and only they can use what was
 * registered for these hosts.
 */
const hostedAssistants: ReadonlySet<string> = new Set([
  'chatgpt.com',
  'claude.ai',
  'claude.com',
  'insiders.vscode.dev',
  'vscode.dev',
  'www.cursor.com',
])

/** What the limit needs from outside. */
export interface RegistrationLimitPorts extends AttemptLimitPorts {
  /** Registrations an hour from one address. */
  limitPerHour: number
}

/** Whether one more registration may be stored. */
export type RegistrationPermit = { kind: 'allowed' } | { kind: 'limited'; retryAfterSeconds: number }

/**
 * Counts a registration from `address` with those redirect URIs. Registrations for one hosted assistant alone have a
 * limit of their own, ten times as high, per assistant and address. Clients without a known address share one limit,
 * a hundred times as high.
 *
 * The registration endpoint is open to all, so this only slows a flood down; the bound is that unused registrations
 * are few and short-lived.
 */
export async function countRegistration(
  { redirectUris, address }: { redirectUris: readonly string[]; address: string | undefined },
  ports: RegistrationLimitPorts,
): Promise<RegistrationPermit> {
  const assistant = hostedAssistantOf(redirectUris)
  const kind = assistant === undefined ? 'registration' : `registration ${assistant}`
  const { windowSeconds, hostedFactor, unknownFactor } = registrations
  const factor = assistant === undefined ? 1 : hostedFactor
  const limits =
    address === undefined
      ? [{ key: `${kind} unknown`, max: ports.limitPerHour * unknownFactor, windowSeconds }]
      : addressLimits(kind, { max: ports.limitPerHour * factor, windowSeconds }, address)
  const { waitSeconds: retryAfterSeconds } = await countWithin(limits, ports)
  return retryAfterSeconds === 0 ? { kind: 'allowed' } : { kind: 'limited', retryAfterSeconds }
}

/** The assistant that all of the redirect URIs belong to. */
function hostedAssistantOf(redirectUris: readonly string[]): string | undefined {
  const hosts = redirectUris.map((uri) => {
    const { protocol, host } = new URL(uri)
    return protocol === 'https:' && hostedAssistants.has(host) ? host : undefined
  })
  return hosts.every((host) => host !== undefined) ? hosts.toSorted()[0] : undefined
}
