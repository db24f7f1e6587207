import { exportJWK, generateKeyPair, type GenerateKeyPairResult, type JWK, SignJWT } from 'jose'

/** What OpenID providers sign with. */
export const keyAlgorithms = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
]
export type KeyAlgorithm = (typeof keyAlgorithms)[number]

/** A provider's key pair, with the public half as published. */
export interface KeySample {
  kid: string
  algorithm: KeyAlgorithm
  published: JWK
  privateKey: GenerateKeyPairResult['privateKey']
  publicKey: GenerateKeyPairResult['publicKey']
}

/** Creates a key pair named `kid`. */
export async function keySample(kid: string, algorithm: KeyAlgorithm = 'ES256'): Promise<KeySample> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  const published = { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' }
  return { kid, algorithm, published, privateKey, publicKey }
}

/** Signs `claims` with `key`; `header` overrides members of the protected header. */
export function signWith(
  key: KeySample,
  claims: Record<string, unknown>,
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: key.algorithm, typ: 'JWT', kid: key.kid, ...header })
    .sign(key.privateKey)
}
