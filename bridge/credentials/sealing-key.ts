import { createHmac } from 'node:crypto'
import { decodeBase64url, encodeBase64url } from '@drawbridge/shared/base64url.ts'

/** What seals the credentials, and the name it goes by. */
export interface SealingKey {
  /** Follows from the bytes, so that a wrong key is found out before anything is opened with it. Not secret. */
  kid: string
  /** 32 bytes. */
  bytes: Uint8Array
}

/** Names the key that these 32 bytes are. */
export function sealingKey(bytes: Uint8Array): SealingKey {
  const kid = createHmac('sha256', bytes).update('drawbridge key id').digest('hex').slice(0, 16)
  return { kid, bytes }
}

/** The key as it is kept: 43 base64url characters, which fit into every keychain. */
export function writeSealingKey(key: SealingKey): string {
  return encodeBase64url(key.bytes)
}

/** Reads what {@link writeSealingKey} wrote. Undefined when it is anything else, or another key than `kid`. */
export function parseSealingKey(text: string, kid: string): SealingKey | undefined {
  const bytes = decodeBase64url(text.trim())
  if (bytes?.length !== 32) return undefined
  const key = sealingKey(bytes)
  return key.kid === kid ? key : undefined
}
