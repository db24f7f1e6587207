import type { Caller, SignedInCaller } from '../../core/tokens/caller.ts'
import type { AssertionSigner } from '../../core/gateway/assertion.ts'
import type { IdentityForm } from '../../core/gateway/upstream.ts'

export interface CallerHeadersPorts {
  identity: readonly IdentityForm[]
  /** Makes what the header `Drawbridge-Assertion` says. */
  assertions: Pick<AssertionSigner, 'assert'>
  /** Makes the same for `Authorization`, where it is a JWT access token (RFC 9068). */
  bearers: Pick<AssertionSigner, 'assert'>
}

/**
 * The headers that tell the upstream who calls, in the forms of its document; none for an anonymous caller. Rejects when the provider's
 * token of the caller cannot be had.
 */
export async function callerHeaders(
  caller: Caller,
  { identity, assertions, bearers }: CallerHeadersPorts,
): Promise<Record<string, string>> {
  const headers: Record<string, string> = {}
  if (!caller.user) return headers
  for (const form of identity) Object.assign(headers, await headersOf(form, caller, { assertions, bearers }))
  return headers
}

async function headersOf(
  form: IdentityForm,
  caller: SignedInCaller,
  { assertions, bearers }: Pick<CallerHeadersPorts, 'assertions' | 'bearers'>,
): Promise<Record<string, string>> {
  switch (form) {
    case 'assertion':
      return { 'drawbridge-assertion': await assertions.assert(caller) }
    case 'bearer':
      return { authorization: `Bearer ${await bearers.assert(caller)}` }
    case 'provider-token':
      return { authorization: `Bearer ${caller.providerToken()}` }
    case 'headers':
      return forwardedHeaders(caller)
  }
}

function forwardedHeaders({ user: { sub, email, name } }: SignedInCaller): Record<string, string> {
  return {
    'x-forwarded-user': headerText(sub),
    ...(email !== undefined && { 'x-forwarded-email': headerText(email) }),
    ...(name !== undefined && { 'x-forwarded-name': headerText(name) }),
  }
}

/** UTF-8 without control characters, which would end the header. Each byte is a character, as `fetch` and undici send it. */
function headerText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what must go
  return Buffer.from(text.replaceAll(/[\x00-\x1F\x7F]/g, ' '), 'utf8').toString('latin1')
}
