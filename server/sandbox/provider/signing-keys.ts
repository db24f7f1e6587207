import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { jwtVerify, SignJWT, type JWTHeaderParameters, type JWTPayload } from 'jose'
import type { Database } from './database.ts'
import { createUuid } from './uuid.ts'

/** How access tokens are signed: with the newest key of the JWKS, or with a shared secret and an empty JWKS. */
export type SigningAlgorithm = 'ES256' | 'HS256'

/** The keys behind access tokens; they outlive the process. */
export interface SigningKeys {
  sign(claims: JWTPayload): Promise<string>
  /** With the shared secret, whatever access tokens are signed with: API keys are. */
  signWithSecret(claims: JWTPayload): Promise<string>
  /** Signature and expiry only. Rejects with a jose error. */
  verify(token: string): Promise<JWTPayload>
  /** The public document of `/.well-known/jwks.json`. */
  jwks(): { keys: JsonWebKey[] }
  /** Makes a new key the signing one. The old public keys stay in the JWKS unless they are dropped (revoked). */
  rotate(options?: { dropOld?: boolean }): void
  setAlgorithm(algorithm: SigningAlgorithm): void
  /** The shared secret of HS256, as text. */
  readonly secret: string
}

interface KeyRow {
  kid: string
  private_jwk: string
}

/** Signing keys kept in the database; the first start creates them. */
export function createSigningKeys(database: Database, runtime: Runtime): SigningKeys {
  const parsed = new Map<string, { privateKey: KeyObject; publicKey: KeyObject }>()

  const setting = (name: string): string | undefined =>
    database.get<{ value: string }>('SELECT value FROM setting WHERE name = ?', name)?.value

  const rows = (): KeyRow[] =>
    database.all<KeyRow>('SELECT kid, private_jwk FROM signing_key ORDER BY created_order DESC')

  function keyPair(row: KeyRow): { privateKey: KeyObject; publicKey: KeyObject } {
    let pair = parsed.get(row.kid)
    if (pair === undefined) {
      const jwk: JsonWebKey = JSON.parse(row.private_jwk)
      const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
      pair = { privateKey, publicKey: createPublicKey(privateKey) }
      parsed.set(row.kid, pair)
    }
    return pair
  }

  function rotate({ dropOld = false }: { dropOld?: boolean } = {}): void {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    database.transaction(() => {
      if (dropOld) database.run('DELETE FROM signing_key')
      database.run(
        `INSERT INTO signing_key (kid, private_jwk, created_order)
         SELECT ?, ?, COALESCE(MAX(created_order), 0) + 1 FROM signing_key`,
        createUuid(runtime),
        JSON.stringify(privateKey.export({ format: 'jwk' })),
      )
    })
  }

  // Read each time: another process on the same file may have changed it.
  const algorithm = (): SigningAlgorithm => (setting('algorithm') === 'HS256' ? 'HS256' : 'ES256')
  const secret = database.transaction(() => {
    const made = Buffer.from(runtime.randomBytes(32)).toString('base64url')
    database.run(`INSERT INTO setting (name, value) VALUES ('hs256_secret', ?) ON CONFLICT DO NOTHING`, made)
    return setting('hs256_secret') ?? made
  })
  if (rows().length === 0) rotate()

  function verificationKey(header: JWTHeaderParameters): KeyObject | Uint8Array {
    if (header.alg === 'HS256') return Buffer.from(secret)
    const row = rows().find(({ kid }) => kid === header.kid)
    if (row === undefined) throw new Error('no such key')
    return keyPair(row).publicKey
  }

  const signWithSecret = (claims: JWTPayload): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(Buffer.from(secret))

  return {
    secret,
    async sign(claims) {
      if (algorithm() === 'HS256') return signWithSecret(claims)
      const newest = rows()[0]!
      const header = { alg: 'ES256', typ: 'JWT', kid: newest.kid }
      return new SignJWT(claims).setProtectedHeader(header).sign(keyPair(newest).privateKey)
    },
    signWithSecret,
    async verify(token) {
      const { payload } = await jwtVerify(token, verificationKey, {
        algorithms: ['ES256', 'HS256'],
        currentDate: new Date(runtime.now() * 1000),
        requiredClaims: ['exp'],
      })
      return payload
    },
    jwks: () => ({
      keys: algorithm() === 'HS256' ? [] : rows().map((row) => publicJwk(row.kid, keyPair(row).publicKey)),
    }),
    rotate,
    setAlgorithm: (next) =>
      void database.run(
        `INSERT INTO setting (name, value) VALUES ('algorithm', ?)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
        next,
      ),
  }
}

/** `key_ops` is required by the vendor's client, which imports the key with WebCrypto. */
function publicJwk(kid: string, key: KeyObject): JsonWebKey {
  return { ...key.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig', key_ops: ['verify'], ext: true }
}
