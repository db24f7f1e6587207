import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { displayText } from '../display-text.ts'
import type { ClaimView } from './popup-view.ts'
import { farthestSecond } from '../session/session-reader.ts'

const maxClaims = 40

/**
 * Returns a token's claims for display; none if it is not a JWT. Not verified. Omits members that are named like a
 * secret at every depth, because some projects put foreign tokens into theirs. Never throws.
 */
export function readClaims(token: string): readonly ClaimView[] {
  return Object.entries(readJwt(token)?.claims ?? {})
    .filter(([name]) => !secretName.test(name))
    .slice(0, maxClaims)
    .map(([name, value]) => viewOf(name, value))
}

const secretName = /token|secret|password/i
const timeName = /^(?:iat|exp|nbf|auth_time|updated_at)$/

function viewOf(name: string, value: unknown): ClaimView {
  const view = { name: displayText(name, 60), value: displayText(textOf(value)) }
  const isTime = typeof value === 'number' && timeName.test(name) && Math.abs(value) <= farthestSecond
  return isTime ? { ...view, at: value } : view
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value, (name, member: unknown) => (secretName.test(name) ? undefined : member))
  } catch {
    // Nested too deeply for the stack.
    return '…'
  }
}
