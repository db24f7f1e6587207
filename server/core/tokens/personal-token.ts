import { crc32 } from 'node:zlib'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { addGrantCode, type AuthorizationCodePorts } from '../authorization/authorization-code.ts'
import { hashSecret } from '../seal.ts'
import { isLive, readGrants } from '../session/grant-pages.ts'
import { type Grant, userOf, type Workspace } from '../session/grant.ts'
import type { SignIn } from '../session/session-provider.ts'
import { toolScope } from './scope.ts'
import { tokenKey } from './token-issue.ts'

/** Prefix of the tokens that users make themselves. */
export const personalTokenPrefix = 'mcpt_'

const format = /^mcpt_([A-Za-z0-9_-]{37})([0-9A-Za-z]{6})$/
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** For how many days a token can be made. */
export const tokenDays: readonly number[] = [7, 30, 90]
const maxTokens = 10
const maxNameLength = 40
/** Grants of a user beyond this are not looked through. */
const maxGrants = 10_000
const daySeconds = 86_400

const clientPrefix = 'personal_token:'

/** A token that a user wants: checked. The scope has the tool scope. */
export interface TokenWish {
  name: string
  scope: string
  days: number
}

interface TokenPorts {
  store: AuthorizationCodePorts['store']
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>
}

/** Names the token in place of a client: printable ASCII, since it becomes a header and a variable. */
export function clientIdOfToken({ name }: Pick<TokenWish, 'name'>): string {
  return `${clientPrefix}${encodeURIComponent(name)}`
}

/** Returns the name of the personal token that a grant is for; undefined for a client's grant. */
export function tokenNameOf(clientId: string): string | undefined {
  return clientId.startsWith(clientPrefix)
    ? decodeURIComponent(clientId.slice(clientPrefix.length))
    : undefined
}

/** Returns whether a text has the form of a personal token, its checksum included. Finds typing errors before the store is asked. */
export function isPersonalToken(token: string): boolean {
  const [, secret = '', checksum = ''] = format.exec(token) ?? []
  return checksum !== '' && checksumOf(secret) === checksum
}

/** CRC-32 in base 62, as secret scanners check it. Proves nothing. */
function checksumOf(secret: string): string {
  let [rest, text] = [crc32(secret), '']
  for (; rest > 0; rest = Math.floor(rest / digits.length)) text = `${digits[rest % digits.length]}${text}`
  return text.padStart(6, '0')
}

/** 222 random bits. */
function createToken({ randomBytes }: Pick<Runtime, 'randomBytes'>): string {
  const secret = encodeBase64url(randomBytes(28)).slice(0, 37)
  return `${personalTokenPrefix}${secret}${checksumOf(secret)}`
}

/**
 * Checks a posted wish; undefined if it names no token, a scope that is not one of `optional`, or other days. Controls and invisible
 * characters leave the name, which is its owner's own.
 */
export function readTokenWish(
  { name, scopes, days }: { name: string | null; scopes: readonly string[]; days: string | null },
  optional: readonly string[],
): TokenWish | undefined {
  const plain = (name ?? '').replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim()
  const count = tokenDays.find((each) => String(each) === days)
  const isKnown = scopes.every((scope) => optional.includes(scope))
  if (plain === '' || Array.from(plain).length > maxNameLength || count === undefined || !isKnown)
    return undefined
  return {
    name: plain,
    scope: [toolScope, ...optional.filter((scope) => scopes.includes(scope))].join(' '),
    days: count,
  }
}

/** Returns whether a user has as many personal tokens as they may have. */
export async function hasAllTokens(userId: string, ports: TokenPorts): Promise<boolean> {
  return (await countTokens(userId, ports)) >= maxTokens
}

/** Counts the live ones, to one more than allowed. */
async function countTokens(userId: string, { store, runtime }: TokenPorts): Promise<number> {
  let [tokens, seen] = [0, 0]
  for await (const record of readGrants({ store, runtime }, { userId })) {
    if (isLive(record, runtime.now()) && tokenNameOf(record.grant.clientId) !== undefined) tokens += 1
    if ((seen += 1) === maxGrants || tokens > maxTokens) break
  }
  return tokens
}

/**
 * Makes a personal token: a grant like a client's, whose only token lasts as long as itself. Undefined if the user has ten already.
 * Only its hash is stored.
 */
export async function makePersonalToken(
  { name, scope, days }: TokenWish,
  { signIn, resource, workspace }: { signIn: SignIn; resource: string; workspace: Workspace | undefined },
  ports: AuthorizationCodePorts & TokenPorts,
): Promise<{ token: string; grant: Pick<Grant, 'id' | 'clientId' | 'expiresAt'> } | undefined> {
  const { store, runtime, providerIssuer } = ports
  const { id: userId } = userOf(signIn.identity, providerIssuer)
  if (await hasAllTokens(userId, ports)) return undefined
  const token = createToken(runtime)
  const now = runtime.now()
  const expiresAt = now + days * daySeconds
  const clientId = clientIdOfToken({ name })
  // This code is never sent: it carries the session into the grant.
  const codeHash = hashSecret(token)
  const record = { codeHash, redirectUri: '', codeChallenge: '', expiresAt: now + 60 }
  const request = { clientId, resource, scope, workspace }
  const id = await addGrantCode(record, request, signIn, { ...ports, sessionTtlSeconds: days * daySeconds })
  const minted = { scope, accessHash: tokenKey(token), accessExpiresAt: expiresAt, refreshHash: undefined }
  await store.redeemAuthorizationCode(codeHash, minted, now)
  // Another sign-in may have made one since.
  if ((await countTokens(userId, ports)) > maxTokens) {
    await store.endGrant(id, 'revoked_by_user', now)
    return undefined
  }
  return { token, grant: { id, clientId, expiresAt } }
}
