import { decodeProtectedHeader, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { AuthServices } from '../../../server/sandbox/provider/auth-services.ts'
import { SigningKeys } from '../../../server/sandbox/provider/sessions/signing-keys.ts'

/** How access tokens are signed: with the newest key of the JWKS, or with a shared secret and an empty JWKS. */
type SigningAlgorithm = 'ES256' | 'HS256'

/** Control over the keys of a provider. */
export interface KeyControl {
  /** The HS256 secret, as text. */
  readonly jwtSecret: string
  setAlgorithm(algorithm: SigningAlgorithm): void
  rotateSigningKey(): void
  /** Signs with the shared secret, as for API keys, even if access tokens are signed with ES256. */
  signWithSecret(claims: JWTPayload): Promise<string>
}

/** Replaces the keys of a provider by some that a test controls, and that accept API keys too. */
export function controlKeys(services: AuthServices): KeyControl {
  const { database, runtime } = services
  const own = new SigningKeys(database, runtime)
  const secret = Buffer.from(runtime.randomBytes(32)).toString('base64url')
  const key = Buffer.from(secret)
  let algorithm: SigningAlgorithm = 'ES256'
  const signWithSecret = (claims: JWTPayload): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(key)
  services.keys = {
    sign: (claims) => (algorithm === 'HS256' ? signWithSecret(claims) : own.sign(claims)),
    jwks: () => (algorithm === 'HS256' ? { keys: [] } : own.jwks()),
    async verify(token) {
      if (decodeProtectedHeader(token).alg !== 'HS256') return own.verify(token)
      const currentDate = new Date(runtime.now() * 1000)
      return (await jwtVerify(token, key, { currentDate, requiredClaims: ['exp'] })).payload
    },
  }
  return {
    jwtSecret: secret,
    signWithSecret,
    setAlgorithm(chosen) {
      algorithm = chosen
    },
    rotateSigningKey: () => own.rotate(),
  }
}
