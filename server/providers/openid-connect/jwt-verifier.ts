import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { JWTVerifyOptions, JWTVerifyResult } from 'jose'
import { ProviderError } from '../../core/session/session-provider.ts'
import { createKeySet, type KeySet, signatureAlgorithms } from '../jwks.ts'
import { verifyProviderJwt, type Vouch } from '../jwt.ts'
import type { ConnectToOidc } from './oidc-connection.ts'
import { probeOidcSession } from './oidc-session.ts'

interface OidcJwtRules extends Pick<JWTVerifyOptions, 'requiredClaims' | 'clockTolerance'> {
  audience: string
  /** Decides where the key is not known here; by default it is `transient`. */
  vouch?: Vouch
  /** The provider itself issued it just now. */
  isFromProvider?: boolean
}

/**
 * Checks a JWT of the issuer: signature by any asymmetric algorithm with a key that it publishes, issuer, audience, and time. Rejects
 * with `invalid_token`, or with `transient` when that cannot be decided now.
 */
export type OidcJwtVerifier = (jwt: string, rules: OidcJwtRules) => Promise<JWTVerifyResult>

/** Creates the one check of ID tokens, access tokens and logout tokens, so that each is taken with the same algorithms and keys. */
export function createOidcJwtVerifier(
  issuer: string,
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): OidcJwtVerifier {
  let keys: { url: string; set: KeySet } | undefined

  async function keySet(): Promise<KeySet> {
    const { metadata } = await connect()
    const url = metadata.jwks_uri ?? ''
    if (new URL(url, issuer).protocol !== new URL(issuer).protocol || url === '') {
      throw new ProviderError('protocol', 'The OpenID provider publishes no keys that could be trusted.')
    }
    if (keys?.url !== url) keys = { url, set: createKeySet(url, runtime) }
    return keys.set
  }

  return (jwt, { vouch = vouchForNone, isFromProvider = false, ...rules }) =>
    verifyProviderJwt(
      jwt,
      async (kid, algorithm) => (await keySet()).find(kid, algorithm, isFromProvider),
      {
        algorithms: signatureAlgorithms,
        issuer,
        currentDate: new Date(runtime.now() * 1000),
        ...rules,
      },
      vouch,
    )
}

const vouchForNone: Vouch = () => Promise.reject(unclear())

function unclear(): ProviderError {
  return new ProviderError('transient', 'The token names a key that the provider does not publish yet.')
}

/**
 * Vouches for a JWT by userinfo, which must take `accessToken`, by default the JWT itself, for the same subject. Its refusal says
 * nothing of the key: many providers take no tokens there that are for another audience.
 */
export function vouchByUserinfo(connect: ConnectToOidc, accessToken?: string): Vouch {
  return async (jwt, { sub }) => {
    const probed = await probeOidcSession(accessToken ?? jwt, connect).catch(() => undefined)
    if (probed?.life !== 'live' || probed.claims?.['sub'] === undefined) throw unclear()
    if (probed.claims['sub'] === sub) return
    throw new ProviderError('invalid_token', 'The provider token is about another user than userinfo.')
  }
}
