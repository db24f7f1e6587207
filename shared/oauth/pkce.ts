import { encodeBase64url, encodeUtf8 } from '../base64url.ts'

/** Returns whether a text is a `code_verifier`: 43 to 128 unreserved characters (RFC 7636 section 4.1). */
export function isCodeVerifier(text: string): boolean {
  return /^[A-Za-z0-9\-._~]{43,128}$/.test(text)
}

/** Returns whether a text can be an S256 `code_challenge`: 43 characters of base64url (RFC 7636 section 4.2). */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9\-_]{43}$/.test(text)
}

/** Creates a `code_verifier`: 43 characters with 256 random bits (RFC 7636 sections 4.1 and 7.1). */
export function createCodeVerifier(randomBytes: (length: number) => Uint8Array): string {
  return encodeBase64url(randomBytes(32))
}

/** Derives the S256 `code_challenge` of a verifier: `BASE64URL(SHA256(ASCII(verifier)))` (RFC 7636 section 4.2). */
export async function deriveCodeChallenge(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', encodeUtf8(verifier))
  return encodeBase64url(new Uint8Array(digest))
}

/**
 * Compares two texts in a time that depends only on their lengths, never on where they differ. Does not hide the
 * length itself, so compare values of a fixed length (digests, tokens of one kind).
 */
export function constantTimeEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  const length = Math.max(a.length, b.length)
  // charCodeAt beyond the end is NaN, which the bitwise operators read as 0; the lengths already differ then.
  for (let index = 0; index < length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}

/**
 * Returns whether a verifier matches the challenge of the authorization request (RFC 7636 section 4.6). Supports only
 * S256: `plain` does not protect a request that leaks, and OAuth 2.1 drops it. A malformed verifier never matches.
 */
export async function matchesCodeChallenge(verifier: string, challenge: string): Promise<boolean> {
  if (!isCodeVerifier(verifier) || !isCodeChallenge(challenge)) return false
  return constantTimeEqual(await deriveCodeChallenge(verifier), challenge)
}
