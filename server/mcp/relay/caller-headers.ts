import type { Caller, SignedInCaller } from '../../core/tokens/caller.ts'
import type { AssertionSigner } from '../../core/gateway/assertion.ts'
import type { IdentityForm } from '../../core/gateway/upstream.ts'

export interface CallerHeadersPorts {
  identity: readonly IdentityForm[]
  /** Creates the assertion. */
  assertions: Pick<AssertionSigner, 'assert'>
  /** Creates the assertion as a JWT access token (RFC 9068). */
  bearers: Pick<AssertionSigner, 'assert'>
}

/**
 * Returns the headers that tell the upstream who is calling, in the forms its document lists; none for an anonymous caller. Rejects if
 * the caller's provider token is not available.
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

/** Encodes text as UTF-8 bytes, one character each, as `fetch` and undici send them. Replaces control characters, which would end the header. */
function headerText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they must go
  return Buffer.from(text.replaceAll(/[\x00-\x1F\x7F]/g, ' '), 'utf8').toString('latin1')
}
