import { type Caller, signedIn, type SignedInCaller } from '../../core/tokens/caller.ts'
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
  for (const form of caller.user ? identity : []) {
    switch (form) {
      case 'assertion':
        headers['drawbridge-assertion'] = await assertions.assert(signedIn(caller))
        break
      case 'bearer':
        headers['authorization'] = `Bearer ${await bearers.assert(signedIn(caller))}`
        break
      case 'provider-token':
        if (caller.credential !== 'service' && caller.providerToken() !== '')
          headers['authorization'] = `Bearer ${caller.providerToken()}`
        break
      case 'headers':
        Object.assign(headers, forwardedHeaders(signedIn(caller)))
    }
  }
  return headers
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
