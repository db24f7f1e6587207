import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type KeyObject, constants, createPrivateKey, sign } from 'node:crypto'
import { OAuthFailure } from '../login-port.ts'

/** Enough for a slow request and a clock that is a little off; short enough to be worth little to a thief. */
const ttlSeconds = 120

interface Signing {
  hash: string | undefined
  keyType: string
  curve?: string
  options?: { padding?: number; saltLength?: number; dsaEncoding?: 'ieee-p1363' }
}

const rsaPss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
const rawSignature = { dsaEncoding: 'ieee-p1363' } as const

/** RFC 7518 section 3.1, RFC 8037 section 3.1. */
const signings: Readonly<Record<string, Signing>> = {
  RS256: { hash: 'sha256', keyType: 'rsa' },
  RS384: { hash: 'sha384', keyType: 'rsa' },
  RS512: { hash: 'sha512', keyType: 'rsa' },
  PS256: { hash: 'sha256', keyType: 'rsa', options: rsaPss },
  PS384: { hash: 'sha384', keyType: 'rsa', options: rsaPss },
  PS512: { hash: 'sha512', keyType: 'rsa', options: rsaPss },
  ES256: { hash: 'sha256', keyType: 'ec', curve: 'prime256v1', options: rawSignature },
  ES384: { hash: 'sha384', keyType: 'ec', curve: 'secp384r1', options: rawSignature },
  ES512: { hash: 'sha512', keyType: 'ec', curve: 'secp521r1', options: rawSignature },
  EdDSA: { hash: undefined, keyType: 'ed25519' },
}

/**
 * A JWT that proves who the client is, once, within two minutes (RFC 7523 section 3). `audience` is the issuer, which is
 * what servers take that were made after the attack on those that took any of their URLs. Throws {@link OAuthFailure}
 * `client_refused` when the key is not one for the algorithm.
 */
export function createClientAssertion(
  { clientId, audience }: { clientId: string; audience: string },
  privateKey: { pem: string; algorithm: string },
  runtime: Runtime,
): string {
  const { algorithm } = privateKey
  const { signing, key } = signingOf(privateKey)
  const now = runtime.now()
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: audience,
    jti: encodeBase64url(runtime.randomBytes(16)),
    iat: now,
    exp: now + ttlSeconds,
  }
  const text = `${part({ alg: algorithm, typ: 'JWT' })}.${part(claims)}`
  const signature = sign(signing.hash, encodeUtf8(text), { key, ...signing.options })
  return `${text}.${encodeBase64url(signature)}`
}

function signingOf({ pem, algorithm }: { pem: string; algorithm: string }): {
  signing: Signing
  key: KeyObject
} {
  const signing = signings[algorithm]
  const key = readKey(pem)
  const fits =
    signing !== undefined &&
    key.asymmetricKeyType === signing.keyType &&
    (signing.curve === undefined || key.asymmetricKeyDetails?.namedCurve === signing.curve)
  if (!fits) throw new OAuthFailure('client_refused', `The private key is no key for ${algorithm}.`)
  return { signing, key }
}

function readKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    // The cause stays behind: it may quote the key.
    throw new OAuthFailure('client_refused', 'The private key cannot be read: it has to be PEM of PKCS 8.')
  }
}

function part(value: object): string {
  return encodeBase64url(encodeUtf8(JSON.stringify(value)))
}
