import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { hashSecret, type Sealer } from '../seal.ts'

/** More users than share one browser; the oldest is forgotten. */
const maxAccounts = 5

export const knownSeconds: number = 365 * 86_400

const knownAccountsUse = 'drawbridge known accounts'

interface KnownAccount {
  hash: string
  mark: string
  until: number
}

/** Newest first. Failures meant to lock an account happen in other browsers (OWASP Authentication Cheat Sheet, device cookies). */
export type KnownAccounts = readonly KnownAccount[]

/**
 * Returns the key by which an account is counted and remembered: its email address, trimmed and lower-cased character by character.
 * A provider that compares this way maps `İ` to `i`; `toLowerCase` of the whole text yields two characters, and each such letter
 * would give a guesser the whole limit again.
 */
export function accountOf(email: string): string {
  return Array.from(email.trim(), (letter) => (letter === 'İ' ? 'i' : letter.toLowerCase())).join('')
}

/** Every sign-in, even of the same browser, has its own mark: a copy of an old cookie stands for that sign-in only. */
export function markOfAccount(known: KnownAccounts, account: string, issuer: string): string | undefined {
  const hash = accountHash(account, issuer)
  return known.find((other) => other.hash === hash)?.mark
}

/** Adds a completed sign-in to `account` at that provider, with a new mark. */
export function rememberAccount(
  known: KnownAccounts,
  account: string,
  issuer: string,
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
): KnownAccounts {
  const hash = accountHash(account, issuer)
  const mark = encodeBase64url(runtime.randomBytes(16))
  const newest = { hash, mark, until: runtime.now() + knownSeconds }
  return [newest, ...known.filter((other) => other.hash !== hash)].slice(0, maxAccounts)
}

/** Makes the value of the device cookie. */
export function sealKnownAccounts(known: KnownAccounts, sealer: Pick<Sealer, 'seal'>): string {
  return sealer.seal(JSON.stringify(known), knownAccountsUse)
}

/** Opens a value of {@link sealKnownAccounts}. Empty for a cookie that this server did not seal, or that has expired. */
export function openKnownAccounts(
  sealed: string | undefined,
  { sealer, runtime }: { sealer: Pick<Sealer, 'open'>; runtime: Pick<Runtime, 'now'> },
): KnownAccounts {
  const opened = sealed === undefined ? undefined : sealer.open(sealed, knownAccountsUse)
  const known = opened === undefined ? [] : (JSON.parse(opened) as KnownAccounts)
  return known.filter(({ until }) => until > runtime.now())
}

function accountHash(account: string, issuer: string): string {
  return hashSecret(`known account ${issuer} ${account}`)
}
