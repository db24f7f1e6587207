import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { decodeBase64url, encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { CredentialError, type LoginId } from './credential-store.ts'
import type { Credential } from './credential.ts'

/** The key that seals credentials, and its id. */
export interface SealingKey {
  /** Derived from the bytes, so that a wrong key is detected before opening anything. Not secret. */
  kid: string
  /** 32 bytes. */
  bytes: Uint8Array
}

/** Creates a key from 32 bytes and derives its id. */
export function sealingKey(bytes: Uint8Array): SealingKey {
  const kid = createHmac('sha256', bytes).update('drawbridge key id').digest('hex').slice(0, 16)
  return { kid, bytes }
}

/** Serializes the key as 43 base64url characters, which fit into every keychain. */
export function writeSealingKey(key: SealingKey): string {
  return encodeBase64url(key.bytes)
}

/** Parses the text of {@link writeSealingKey}. Returns undefined for anything else. */
export function parseSealingKey(text: string): SealingKey | undefined {
  const bytes = decodeBase64url(text.trim())
  return bytes?.length === 32 ? sealingKey(bytes) : undefined
}

const recordVersion = 1
const nonceLength = 12
const tagLength = 16

/**
 * Seals a credential with AES-256-GCM. Authenticates id, generation and key id: a record that was renamed, or
 * restored under a newer generation, does not open. `nonce`: 12 random bytes, never used twice with one key.
 */
export function sealCredential(
  id: LoginId,
  credential: Credential,
  key: SealingKey,
  nonce: Uint8Array,
): string {
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce)
  cipher.setAAD(associated(id, credential.generation, key.kid))
  const sealed = Buffer.concat([
    cipher.update(JSON.stringify(credential), 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ])
  return JSON.stringify({
    v: recordVersion,
    kid: key.kid,
    gen: credential.generation,
    alg: 'A256GCM',
    nonce: encodeBase64url(nonce),
    ct: encodeBase64url(sealed),
  })
}

type CredentialRecord = ReturnType<typeof parseCredentialRecord>

/** Reads a record as stored on disk, without opening it. Throws {@link CredentialError} `corrupt`, or `newer_version` for one of a later Drawbridge. */
export function parseCredentialRecord(text: string) {
  const value = parseJsonObject(text)
  if (value === undefined) throw corrupt('is cut off or no JSON')
  const { v, kid, gen, alg, nonce, ct } = value
  if (typeof v === 'number' && v > recordVersion) {
    throw new CredentialError(
      'newer_version',
      `The stored login was written by a newer Drawbridge (format ${v}).`,
    )
  }
  if (v !== recordVersion || alg !== 'A256GCM') throw corrupt('has an unknown format')
  if (typeof kid !== 'string' || typeof gen !== 'number') throw corrupt('lacks its key or its generation')
  // `sealed` is the ciphertext with the tag at its end.
  const record = { kid, generation: gen, nonce: decode(nonce), sealed: decode(ct) }
  if (record.nonce.length !== nonceLength || record.sealed.length < tagLength) throw corrupt('is cut off')
  return record
}

/** Opens a record. Throws {@link CredentialError} `corrupt` when it was changed, renamed or sealed with another key. */
export function openCredentialRecord(id: LoginId, record: CredentialRecord, key: SealingKey): Credential {
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, record.nonce)
  decipher.setAAD(associated(id, record.generation, key.kid))
  decipher.setAuthTag(record.sealed.subarray(-tagLength))
  let opened: Buffer
  try {
    opened = Buffer.concat([decipher.update(record.sealed.subarray(0, -tagLength)), decipher.final()])
  } catch (error) {
    throw corrupt('does not open with its key', error)
  }
  return parseCredential(opened.toString('utf8'))
}

/** Checks only what every reader relies on: the seal already proves that Drawbridge wrote it. */
function parseCredential(text: string): Credential {
  const value = parseJsonObject(text)
  const { client, generation, issuer, tokenEndpoint } = value ?? {}
  if (
    typeof generation !== 'number' ||
    typeof issuer !== 'string' ||
    typeof tokenEndpoint !== 'string' ||
    !isJsonObject(client)
  ) {
    throw corrupt('holds no login')
  }
  return value as unknown as Credential
}

function associated(id: LoginId, generation: number, kid: string): Buffer {
  return Buffer.from(`${id}|${generation}|${kid}`)
}

function decode(value: unknown): Uint8Array {
  const bytes = typeof value === 'string' ? decodeBase64url(value) : undefined
  if (bytes === undefined) throw corrupt('is cut off')
  return bytes
}

function corrupt(how: string, cause?: unknown): CredentialError {
  return new CredentialError('corrupt', `The stored login ${how}.`, { cause })
}
