import { generateKeyPairSync, type JsonWebKey, randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createLocalJWKSet, importJWK, type JWK, jwtVerify, SignJWT, type JWTPayload } from 'jose'
import { Collection } from '../../database.ts'

interface SigningKey {
  /** The `kid`. */
  id: string
  privateJwk: JsonWebKey
}

/** ES256 keys in the database; the newest signs, and all of them are published. The first start creates one. */
export class SigningKeys {
  readonly #keys: Collection<SigningKey>
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(database: DatabaseSync, runtime: Pick<Runtime, 'now'>) {
    this.#keys = new Collection(database, 'signing_key')
    this.#runtime = runtime
    if (this.#list().length === 0) this.rotate()
  }

  async sign(claims: JWTPayload): Promise<string> {
    const { id: kid, privateJwk } = this.#list()[0]!
    const key = await importJWK(privateJwk as JWK, 'ES256')
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid }).sign(key)
  }

  /** Checks signature and expiry only. Rejects with a jose error. */
  async verify(token: string): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, createLocalJWKSet(this.jwks()), {
      algorithms: ['ES256'],
      currentDate: new Date(this.#runtime.now() * 1000),
      requiredClaims: ['exp'],
    })
    return payload
  }

  /** Returns the public document of `/.well-known/jwks.json`. The vendor's client requires `key_ops`: it imports with WebCrypto. */
  jwks(): { keys: JWK[] } {
    const keys = this.#list().map(({ id: kid, privateJwk: { kty = '', crv, x, y } }) => {
      return { kty, crv, x, y, kid, alg: 'ES256', use: 'sig', key_ops: ['verify'], ext: true } as JWK
    })
    return { keys }
  }

  /** Signs with a new key from now on. */
  rotate(): void {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#keys.save({ id: randomUUID(), privateJwk: privateKey.export({ format: 'jwk' }) })
  }

  #list(): SigningKey[] {
    return this.#keys.list('true')
  }
}
