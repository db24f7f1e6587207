import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { SignJWT } from 'jose'
import { BoundedMap } from '../bounded-map.ts'
import type { KeyRing } from '../seal.ts'
import type { SignedInCaller } from '../tokens/caller.ts'
import { type AssertionKey, assertionKeys, type PublicJwk, signingKey } from './assertion-key.ts'

/** Lifetime of an assertion; a new one is made after part of it. */
const lifeSeconds = 60
const reuseSeconds = 30
const maxRemembered = 10_000

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

  keySet(): { keys: PublicJwk[] } {
    return { keys: this.#currentKeys().map(({ publicJwk }) => publicJwk) }
  }

  async assert(caller: SignedInCaller): Promise<string> {
    const { runtime } = this.#ports
    const key = signingKey(this.#currentKeys())
    if (!key) throw new TypeError('The key ring is empty.')
    const name = nameOf(caller)
    const now = runtime.now()
    const made = this.#made.get(name)
    if (made && made.kid === key.kid && now >= made.at && now - made.at < reuseSeconds) return made.jwt
    const jwt = await this.#sign(caller, key, now)
    this.#made.set(name, { jwt, at: now, kid: key.kid })
    return jwt
  }

  #sign(
    { user, clientId, scope, grantId, credential }: SignedInCaller,
    { kid, privateKey }: AssertionKey,
    now: number,
  ): Promise<string> {
    const { issuer, audience, type, runtime } = this.#ports
    const claims = {
      iss: issuer,
      aud: audience,
      sub: user.sub,
      ...(user.email !== undefined && { email: user.email, email_verified: user.emailVerified }),
      ...(user.name !== undefined && { name: user.name }),
      ...(clientId !== undefined && { client_id: clientId }),
      scope,
      ...(grantId !== undefined && { grant_id: grantId }),
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
    if (this.#keys?.of !== of) this.#keys = { of, keys: assertionKeys(ring) }
    return this.#keys.keys
  }
}

function nameOf({ user, clientId, scope, grantId, credential }: SignedInCaller): string {
  return JSON.stringify([user, clientId, scope, grantId, credential])
}
