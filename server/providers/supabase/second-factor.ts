import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { ProviderError, type SecondFactor } from '../../core/session/session-provider.ts'

/** When a sign-in requires a second factor: for accounts that have one, never, or always. */
export type SecondFactorPolicy = 'if-enrolled' | 'ignore' | 'require'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const maxLabel = 80

/** Returns whether a value is a UUID: the shape of every id of the API, and safe in a path. */
export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuid.test(value)
}

/**
 * Returns the factors still required after a first step returned `body`; none when the sign-in is complete. Throws
 * `second_factor_unusable` when the account has only unsupported kinds, and `second_factor_missing` when the policy requires one of
 * an account without any.
 *
 * The provider itself lets a password sign in without the second factor; only this function checks.
 */
export function factorsToAsk(
  body: unknown,
  isProven: boolean,
  policy: SecondFactorPolicy,
): readonly SecondFactor[] {
  if (policy === 'ignore' || isProven) return []
  const verified = verifiedFactors(body)
  const usable = verified.filter(({ type }) => type === 'totp')
  if (usable.length > 0) return withLabels(usable)
  if (verified.length > 0) {
    throw new ProviderError('second_factor_unusable', 'The account has no second factor with a code.')
  }
  if (policy === 'require') {
    throw new ProviderError('second_factor_missing', 'The account has no second factor.')
  }
  return []
}

function verifiedFactors(body: unknown) {
  const user = isJsonObject(body) ? body['user'] : undefined
  const factors = isJsonObject(user) ? user['factors'] : undefined
  if (!Array.isArray(factors)) return []
  return factors.filter(isJsonObject).flatMap(({ id, status, factor_type: type, friendly_name: name }) =>
    // Without a usable id it still is a factor: the account requires more than a password.
    status === 'verified' ? [{ id: String(id), type: isUuid(id) ? type : undefined, name }] : [],
  )
}

function withLabels(factors: ReturnType<typeof verifiedFactors>): SecondFactor[] {
  const taken = new Set<string>()
  return factors.map(({ id, name }) => {
    const wanted = labelOf(name)
    let label = wanted
    for (let count = 2; taken.has(label); count += 1) label = `${wanted} (${count})`
    taken.add(label)
    return { id, label }
  })
}

function labelOf(name: unknown): string {
  const text = typeof name === 'string' ? name.trim().slice(0, maxLabel) : ''
  return text === '' ? 'Authenticator app' : text
}
