import { createECDH, createPrivateKey, hkdfSync } from 'node:crypto'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { SignJWT } from 'jose'
import { BoundedMap } from '../bounded-map.ts'
import type { KeyRing, SealingKey } from '../seal.ts'
import type { SignedInCaller } from '../tokens/caller.ts'

/** Lifetime of an assertion; a new one is made after part of it. */
const lifeSeconds = 60
const reuseSeconds = 30
const maxRemembered = 10_000
const curve = 'prime256v1'
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
/** The next key to sign, the current one, and the previous one. */
const maxPublished = 3

/** The `typ` of an assertion in its own header, or of one sent as a bearer token (RFC 9068). */
export type AssertionType = 'drawbridge-assertion+jwt' | 'at+jwt'

export interface AssertionPorts {
  ring: Pick<KeyRing, 'keys'>
  issuer: string
  audience: string
  type: AssertionType
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
}

/**
 * Signs JWTs that tell the upstream who is calling, valid for 60 seconds. Reuses a caller's for up to 30, so `jti` names no call.
 */
export class AssertionSigner {
  readonly #ports: AssertionPorts
  readonly #made = new BoundedMap<{ jwt: string; at: number; kid: string }>(maxRemembered)
  #keys: { of: string; keys: AssertionKey[] } | undefined

  constructor(ports: AssertionPorts) {
    this.#ports = ports
  }

  /** Returns the public keys as a JWK set (RFC 7517). */
  keySet(): { keys: AssertionKey['publicJwk'][] } {
    return { keys: this.#currentKeys().map(({ publicJwk }) => publicJwk) }
  }

  /** `audience`: the API that checks it; by default the upstream. */
  async assert(caller: SignedInCaller, audience: string = this.#ports.audience): Promise<string> {
    const { runtime } = this.#ports
    const key = signingKey(this.#currentKeys())
    if (!key) throw new TypeError('The key ring is empty.')
    const name = nameOf(caller, audience)
    const now = runtime.now()
    const made = this.#made.get(name)
    if (made && made.kid === key.kid && now >= made.at && now - made.at < reuseSeconds) return made.jwt
    const jwt = await this.#sign(caller, key, audience, now)
    this.#made.set(name, { jwt, at: now, kid: key.kid })
    return jwt
  }

  #sign(
    { user, clientId, scope, grantId, workspace, credential }: SignedInCaller,
    { kid, privateKey }: AssertionKey,
    audience: string,
    now: number,
  ): Promise<string> {
    const { issuer, type, runtime } = this.#ports
    const claims = {
      iss: issuer,
      aud: audience,
      sub: user.sub,
      ...(user.email !== undefined && { email: user.email, email_verified: user.emailVerified }),
      ...(user.name !== undefined && { name: user.name }),
      ...(clientId !== undefined && { client_id: clientId }),
      scope,
      ...(grantId !== undefined && { grant_id: grantId }),
      ...(workspace && { workspace: workspace.id }),
      credential,
      iat: now,
      exp: now + lifeSeconds,
      jti: encodeBase64url(runtime.randomBytes(16)),
    }
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: type, kid }).sign(privateKey)
  }

  #currentKeys(): AssertionKey[] {
    const ring = this.#ports.ring.keys()
    const of = ring.map(({ kid }) => kid).join(' ')
    if (this.#keys?.of !== of) this.#keys = { of, keys: ring.slice(0, maxPublished).map(deriveKey) }
    return this.#keys.keys
  }
}

function nameOf(
  { user, clientId, scope, grantId, workspace, credential }: SignedInCaller,
  audience: string,
): string {
  return JSON.stringify([user, clientId, scope, grantId, workspace?.id, credential, audience])
}

type AssertionKey = ReturnType<typeof deriveKey>

/** The second newest, if there are two: an upstream that caches the key set knows each key one rotation before it signs. */
function signingKey(keys: readonly AssertionKey[]): AssertionKey | undefined {
  return keys[1] ?? keys[0]
}

/** Derives a key from one of the ring, so that all instances have the same without storing any. It does not reveal the ring key. */
function deriveKey({ kid, key }: SealingKey) {
  // 16 bytes more than the order has, so that the remainder is uniform (FIPS 186-5 A.2.1).
  const bytes = Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), 'drawbridge assertion key', 48))
  const scalar = (BigInt(`0x${bytes.toString('hex')}`) % (order - 1n)) + 1n
  const d = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex')
  const pair = createECDH(curve)
  pair.setPrivateKey(d)
  const point = pair.getPublicKey()
  const [x, y] = [encodeBase64url(point.subarray(1, 33)), encodeBase64url(point.subarray(33))]
  const named = { kid: `assertion-${kid}`, alg: 'ES256', use: 'sig' }
  const publicJwk = { kty: 'EC', crv: 'P-256', x, y, ...named }
  const privateKey = createPrivateKey({ key: { ...publicJwk, d: encodeBase64url(d) }, format: 'jwk' })
  return { kid: publicJwk.kid, privateKey, publicJwk }
}
