import { decodeBase64url, decodeUtf8 } from '../base64url.ts'
import { parseJsonObject, type JsonObject } from '../json-object.ts'

/** A JWT whose signature has not been checked: the sender may have made up every member. */
export interface UnverifiedJwt {
  header: JsonObject
  claims: JsonObject
  /** The `exp` claim in epoch seconds; `undefined` if it is missing or not a number. */
  expiresAt: number | undefined
}

/**
 * Reads header and claims of a compact JWS (RFC 7515 section 3.1, RFC 7519 section 3), for display and for choosing a
 * key. Does not check signature, `alg`, issuer, audience or times. Returns `undefined` unless the text is three
 * base64url parts of which the first two are JSON objects.
 */
export function readJwt(token: string): UnverifiedJwt | undefined {
  const parts = token.split('.', 4)
  const [headerPart, claimsPart, signature] = parts
  if (parts.length !== 3 || headerPart === undefined || claimsPart === undefined) return undefined
  if (signature === undefined || decodeBase64url(signature) === undefined) return undefined
  const header = readJsonObject(headerPart)
  const claims = readJsonObject(claimsPart)
  if (header === undefined || claims === undefined) return undefined
  const { exp } = claims
  return { header, claims, expiresAt: typeof exp === 'number' && Number.isFinite(exp) ? exp : undefined }
}

function readJsonObject(part: string): JsonObject | undefined {
  const bytes = decodeBase64url(part)
  const text = bytes === undefined ? undefined : decodeUtf8(bytes)
  return text === undefined ? undefined : parseJsonObject(text)
}
