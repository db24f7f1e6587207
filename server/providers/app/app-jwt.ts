import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { ProviderError } from '../../core/session/session-provider.ts'
import { requireRules, textClaim } from '../jwt.ts'

/** What a JWT is for. Each is taken at its own place only, so that none of them serves as another. */
type AppJwtType = 'drawbridge-user+jwt' | 'drawbridge-session+jwt' | 'drawbridge-end+jwt'

const lifeSeconds = 60
/** How far the clocks of this server and the web app's may be apart. */
const clockToleranceSeconds = 30

/** Claims of a verified JWT. `jti` is not checked for an earlier use. */
type AppJwtClaims = JWTPayload & { sub: string; jti: string }

export interface AppJwts {
  /** Rejects with `invalid_token` and the rule that the JWT breaks. */
  read(jwt: string, type: AppJwtType): Promise<AppJwtClaims>
  sign(type: AppJwtType, audience: string, sub: string): Promise<string>
}

/**
 * Reads and signs the JWTs between the web app and this server: HS256 by the secret that they share, for one audience, a minute at
 * most.
 */
export function createAppJwts(
  { secret, audience }: { secret: string; audience: string },
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
): AppJwts {
  const key = new TextEncoder().encode(secret)

  async function verify(jwt: string, typ: AppJwtType): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(jwt, key, {
        algorithms: ['HS256'],
        typ,
        audience,
        requiredClaims: ['exp'],
        maxTokenAge: lifeSeconds,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(runtime.now() * 1000),
      })
      return payload
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error
      const claim = error instanceof errors.JWTClaimValidationFailed ? error.claim : ''
      const expected = { typ, aud: audience }[claim]
      const hint = expected === undefined ? '' : `, expected ${expected}`
      throw new ProviderError('invalid_token', `The ${typ} is refused: ${error.message}${hint}.`, {
        cause: error,
      })
    }
  }

  return {
    async read(jwt, type) {
      const payload = await verify(jwt, type)
      const { iat = 0, exp = 0, aud, sub, jti } = payload
      const rules = [
        [exp - iat <= lifeSeconds, `exp is more than ${lifeSeconds} seconds after iat`],
        [aud === audience, `aud is not ${audience} alone`],
        [textClaim(sub) !== undefined, 'sub is not a string, or empty'],
        [textClaim(jti) !== undefined, 'jti is not a string, or empty'],
      ] as const
      requireRules(payload, runtime.now(), rules, type)
      return { ...payload, sub: String(sub), jti: String(jti) }
    },

    sign(typ, recipient, sub) {
      const now = runtime.now()
      return new SignJWT({})
        .setProtectedHeader({ alg: 'HS256', typ })
        .setAudience(recipient)
        .setSubject(sub)
        .setIssuedAt(now)
        .setExpirationTime(now + lifeSeconds)
        .setJti(encodeBase64url(runtime.randomBytes(16)))
        .sign(key)
    },
  }
}
