import { addressLimits, type AttemptLimitPorts, countWithin } from '../limits/attempt-limit.ts'
import { registrations } from '../limits/limit-table.ts'

/** Their users register from few addresses, and only the assistants can use what was registered for these hosts. */
const hostedAssistants: ReadonlySet<string> = new Set([
  'chatgpt.com',
  'claude.ai',
  'claude.com',
  'insiders.vscode.dev',
  'vscode.dev',
  'www.cursor.com',
])

export interface RegistrationLimitPorts extends AttemptLimitPorts {
  limitPerHour: number
}

/**
 * Counts a registration, and returns how many seconds to wait; 0: it is permitted. Registrations for a single hosted assistant
 * have their own limit, ten times as high, per assistant and address. Clients without a known address share one, a hundred times
 * as high.
 *
 * This only slows a flood down; storage is bounded because unused registrations are few and short-lived.
 */
export async function countRegistration(
  { redirectUris, address }: { redirectUris: readonly string[]; address: string | undefined },
  ports: RegistrationLimitPorts,
): Promise<number> {
  const assistant = hostedAssistantOf(redirectUris)
  const kind = assistant === undefined ? 'registration' : `registration ${assistant}`
  const { windowSeconds, hostedFactor, unknownFactor } = registrations
  const factor = assistant === undefined ? 1 : hostedFactor
  const limits =
    address === undefined
      ? [{ key: `${kind} unknown`, max: ports.limitPerHour * unknownFactor, windowSeconds }]
      : addressLimits(kind, { max: ports.limitPerHour * factor, windowSeconds }, address)
  return (await countWithin(limits, ports)).waitSeconds
}

function hostedAssistantOf(redirectUris: readonly string[]): string | undefined {
  const hosts = redirectUris.map((uri) => {
    const { protocol, host } = new URL(uri)
    return protocol === 'https:' && hostedAssistants.has(host) ? host : undefined
  })
  return hosts.every((host) => host !== undefined) ? hosts.toSorted()[0] : undefined
}
