import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { ProviderError } from '../../core/session/session-provider.ts'
import { requireRules, textClaim } from '../jwt.ts'

/** What a JWT between the web app and this server is for. Each is taken at its own place only, so that none serves as another. */
type AppJwtType = 'drawbridge-user+jwt' | 'drawbridge-session+jwt' | 'drawbridge-end+jwt'

const lifeSeconds = 60

/** HS256: the key is the text's bytes in UTF-8. */
const keyOf = (secret: string): Uint8Array => new TextEncoder().encode(secret)

/**
 * Returns the claims of a JWT that the web app signed for `audience` within the last minute. Rejects with `invalid_token` and the rule
 * that it breaks. Does not check whether `jti` was used before.
 */
export async function readAppJwt(
  jwt: string,
  typ: AppJwtType,
  { secret, audience }: { secret: string; audience: string },
  { now }: Pick<Runtime, 'now'>,
): Promise<JWTPayload & { sub: string; jti: string }> {
  const options = {
    algorithms: ['HS256'],
    typ,
    audience,
    requiredClaims: ['exp'],
    maxTokenAge: lifeSeconds,
    // How far the clocks of this server and the web app's may be apart, in seconds.
    clockTolerance: 30,
    currentDate: new Date(now() * 1000),
  }
  const { payload } = await jwtVerify(jwt, keyOf(secret), options).catch((cause: unknown) => {
    if (!(cause instanceof errors.JOSEError)) throw cause
    const message = `The JWT is refused: ${cause.message}; expected ${typ} for ${audience}.`
    throw new ProviderError('invalid_token', message, { cause })
  })
  const { iat = 0, exp = 0, aud, sub, jti } = payload
  const rules = [
    [exp - iat <= lifeSeconds, `exp is more than ${lifeSeconds} seconds after iat`],
    [aud === audience, `aud is not ${audience} alone`],
    [textClaim(sub) !== undefined, 'sub is not a string, or empty'],
    [!String(sub).startsWith('service:'), 'sub starts with service: as the name of a service does'],
    [textClaim(jti) !== undefined, 'jti is not a string, or empty'],
  ] as const
  requireRules(payload, now(), rules, 'JWT')
  return { ...payload, sub: String(sub), jti: String(jti) }
}

/** Signs a request about `sub` to an address of the web app. */
export function signAppJwt(
  typ: AppJwtType,
  { audience, sub, secret }: { audience: string; sub: string; secret: string },
  { now, randomBytes }: Pick<Runtime, 'now' | 'randomBytes'>,
): Promise<string> {
  return new SignJWT({ aud: audience, sub, iat: now(), exp: now() + lifeSeconds })
    .setProtectedHeader({ alg: 'HS256', typ })
    .setJti(encodeBase64url(randomBytes(16)))
    .sign(keyOf(secret))
}
