import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  randomUUID,
} from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { jwtVerify, SignJWT, type JWTPayload } from 'jose'
import type { Database } from '../../database.ts'

export const keySchema = `CREATE TABLE IF NOT EXISTS signing_key (
  kid TEXT PRIMARY KEY,
  private_jwk TEXT NOT NULL
) STRICT;`

interface KeyRow {
  kid: string
  private_jwk: string
}

/** ES256 keys in the database; the newest signs, and all of them are published. The first start creates one. */
export class SigningKeys {
  readonly #database: Database
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(database: Database, runtime: Pick<Runtime, 'now'>) {
    this.#database = database
    this.#runtime = runtime
    if (this.#rows().length === 0) this.rotate()
  }

  async sign(claims: JWTPayload): Promise<string> {
    const { kid, private_jwk: jwk } = this.#rows()[0]!
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid }).sign(privateKey(jwk))
  }

  /** Checks signature and expiry only. Rejects with a jose error. */
  async verify(token: string): Promise<JWTPayload> {
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const row = this.#rows().find((each) => each.kid === kid)
        if (row === undefined) throw new Error('no such key')
        return createPublicKey(privateKey(row.private_jwk))
      },
      { algorithms: ['ES256'], currentDate: new Date(this.#runtime.now() * 1000), requiredClaims: ['exp'] },
    )
    return payload
  }

  /** Returns the public document of `/.well-known/jwks.json`. */
  jwks(): { keys: JsonWebKey[] } {
    return { keys: this.#rows().map(publicJwk) }
  }

  /** Signs with a new key from now on. */
  rotate(): void {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = JSON.stringify(pair.privateKey.export({ format: 'jwk' }))
    this.#database.run('INSERT INTO signing_key (kid, private_jwk) VALUES (?, ?)', randomUUID(), jwk)
  }

  #rows(): KeyRow[] {
    return this.#database.all<KeyRow>('SELECT kid, private_jwk FROM signing_key ORDER BY rowid DESC')
  }
}

function privateKey(jwk: string): ReturnType<typeof createPrivateKey> {
  return createPrivateKey({ key: JSON.parse(jwk) as JsonWebKey, format: 'jwk' })
}

/** Returns the JWK of a key; the vendor's client requires `key_ops`, as it imports the key with WebCrypto. */
function publicJwk({ kid, private_jwk: jwk }: KeyRow): JsonWebKey {
  const key = createPublicKey(privateKey(jwk)).export({ format: 'jwk' })
  return { ...key, kid, alg: 'ES256', use: 'sig', key_ops: ['verify'], ext: true }
}
