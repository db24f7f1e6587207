import { createECDH, createPrivateKey, hkdfSync, type KeyObject } from 'node:crypto'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { SealingKey } from '../seal.ts'

const curve = 'prime256v1'
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
/** The next key to sign, the current one, and the previous one. */
const maxPublished = 3

/** A public key as a key set lists it (RFC 7517). */
export interface PublicJwk {
  kty: 'EC'
  crv: 'P-256'
  x: string
  y: string
  kid: string
  alg: 'ES256'
  use: 'sig'
}

export interface AssertionKey {
  kid: string
  privateKey: KeyObject
  publicJwk: PublicJwk
}

/** Derives one key for each of the ring, so that all instances have the same without storing any. None reveals its ring key. */
export function assertionKeys(ring: readonly SealingKey[]): AssertionKey[] {
  return ring.slice(0, maxPublished).map(deriveKey)
}

/** The second newest, if there are two: an upstream that caches the key set knows each key one rotation before it signs. */
export function signingKey(keys: readonly AssertionKey[]): AssertionKey | undefined {
  return keys[1] ?? keys[0]
}

function deriveKey({ kid, key }: SealingKey): AssertionKey {
  // 16 bytes more than the order has, so that the remainder is uniform (FIPS 186-5 A.2.1).
  const bytes = Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), 'drawbridge assertion key', 48))
  const scalar = (BigInt(`0x${bytes.toString('hex')}`) % (order - 1n)) + 1n
  const d = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex')
  const pair = createECDH(curve)
  pair.setPrivateKey(d)
  const point = pair.getPublicKey()
  const [x, y] = [encodeBase64url(point.subarray(1, 33)), encodeBase64url(point.subarray(33))]
  const publicJwk: PublicJwk = {
    kty: 'EC',
    crv: 'P-256',
    x,
    y,
    kid: `assertion-${kid}`,
    alg: 'ES256',
    use: 'sig',
  }
  const privateKey = createPrivateKey({ key: { ...publicJwk, d: encodeBase64url(d) }, format: 'jwk' })
  return { kid: publicJwk.kid, privateKey, publicJwk }
}
