import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { jwtVerify, SignJWT, type JWTHeaderParameters, type JWTPayload } from 'jose'
import type { Database } from '../database.ts'

/** How access tokens are signed: with the newest key of the JWKS, or with a shared secret and an empty JWKS. */
export type SigningAlgorithm = 'ES256' | 'HS256'

interface KeyRow {
  kid: string
  private_jwk: string
}

interface KeyPair {
  privateKey: KeyObject
  publicKey: KeyObject
}

/** The keys behind access tokens, in the database; the first start creates them. */
export class SigningKeys {
  /** The shared HS256 secret, as text. */
  readonly secret: string
  readonly #database: Database
  readonly #runtime: Pick<Runtime, 'now' | 'randomBytes'>
  readonly #pairs = new Map<string, KeyPair>()

  constructor(database: Database, runtime: Pick<Runtime, 'now' | 'randomBytes'>) {
    this.#database = database
    this.#runtime = runtime
    this.secret = database.transaction(() => {
      const made = Buffer.from(runtime.randomBytes(32)).toString('base64url')
      database.run(
        `INSERT INTO setting (name, value) VALUES ('hs256_secret', ?) ON CONFLICT DO NOTHING`,
        made,
      )
      return this.#setting('hs256_secret') ?? made
    })
    if (this.#rows().length === 0) this.rotate()
  }

  async sign(claims: JWTPayload): Promise<string> {
    if (this.#algorithm() === 'HS256') return this.signWithSecret(claims)
    const newest = this.#rows()[0]!
    const header = { alg: 'ES256', typ: 'JWT', kid: newest.kid }
    return new SignJWT(claims).setProtectedHeader(header).sign(this.#pair(newest).privateKey)
  }

  /** Signs with the shared secret, as for API keys, even if access tokens are signed with ES256. */
  signWithSecret(claims: JWTPayload): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(Buffer.from(this.secret))
  }

  /** Checks signature and expiry only. Rejects with a jose error. */
  async verify(token: string): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, (header) => this.#verificationKey(header), {
      algorithms: ['ES256', 'HS256'],
      currentDate: new Date(this.#runtime.now() * 1000),
      requiredClaims: ['exp'],
    })
    return payload
  }

  /** Returns the public document of `/.well-known/jwks.json`. */
  jwks(): { keys: JsonWebKey[] } {
    const rows = this.#algorithm() === 'HS256' ? [] : this.#rows()
    return { keys: rows.map((row) => publicJwk(row.kid, this.#pair(row).publicKey)) }
  }

  /** Signs with a new key from now on. The old public keys stay in the JWKS unless they are dropped (revoked). */
  rotate({ dropOld = false }: { dropOld?: boolean } = {}): void {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#database.transaction(() => {
      if (dropOld) this.#database.run('DELETE FROM signing_key')
      this.#database.run(
        `INSERT INTO signing_key (kid, private_jwk, created_order)
         SELECT ?, ?, COALESCE(MAX(created_order), 0) + 1 FROM signing_key`,
        randomUUID(),
        JSON.stringify(privateKey.export({ format: 'jwk' })),
      )
    })
  }

  setAlgorithm(algorithm: SigningAlgorithm): void {
    this.#database.run(
      `INSERT INTO setting (name, value) VALUES ('algorithm', ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      algorithm,
    )
  }

  // Read each time: another process on the same file may have changed it.
  #algorithm(): SigningAlgorithm {
    return this.#setting('algorithm') === 'HS256' ? 'HS256' : 'ES256'
  }

  #setting(name: string): string | undefined {
    return this.#database.get<{ value: string }>('SELECT value FROM setting WHERE name = ?', name)?.value
  }

  #rows(): KeyRow[] {
    return this.#database.all<KeyRow>('SELECT kid, private_jwk FROM signing_key ORDER BY created_order DESC')
  }

  #pair(row: KeyRow): KeyPair {
    const parsed = this.#pairs.get(row.kid)
    if (parsed !== undefined) return parsed
    const privateKey = createPrivateKey({ key: JSON.parse(row.private_jwk) as JsonWebKey, format: 'jwk' })
    const pair = { privateKey, publicKey: createPublicKey(privateKey) }
    this.#pairs.set(row.kid, pair)
    return pair
  }

  #verificationKey({ alg, kid }: JWTHeaderParameters): KeyObject | Uint8Array {
    if (alg === 'HS256') return Buffer.from(this.secret)
    const row = this.#rows().find((each) => each.kid === kid)
    if (row === undefined) throw new Error('no such key')
    return this.#pair(row).publicKey
  }
}

/** Returns the JWK of a key; the vendor's client requires `key_ops`, as it imports the key with WebCrypto. */
function publicJwk(kid: string, key: KeyObject): JsonWebKey {
  return { ...key.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig', key_ops: ['verify'], ext: true }
}
