import { hashSecret, type Sealer } from './seal.ts'

/** More people than share one browser; the oldest is forgotten. */
const mostAccounts = 5

const knownAccountsUse = 'drawbridge known accounts'

/**
 * In which accounts a browser has signed in before, newest first, as hashes. Whoever fails on purpose, to have an account
 * locked, does so in another browser: the owner's own is let through (OWASP Authentication Cheat Sheet, device cookies).
 */
export type KnownAccounts = readonly string[]

/** What an account is counted and remembered by: its email address without blanks around it, in lower case. */
export function accountOf(email: string): string {
  return email.trim().toLowerCase()
}

/** Whether the browser has signed in to `account` at that provider before. */
export function knowsAccount(known: KnownAccounts, account: string, issuer: string): boolean {
  return known.includes(accountHash(account, issuer))
}

/** `known` after a completed sign-in to `account` at that provider. */
export function rememberAccount(known: KnownAccounts, account: string, issuer: string): KnownAccounts {
  const hash = accountHash(account, issuer)
  return [hash, ...known.filter((other) => other !== hash)].slice(0, mostAccounts)
}

/** The text that the browser keeps. */
export function sealKnownAccounts(known: KnownAccounts, sealer: Pick<Sealer, 'seal'>): string {
  return sealer.seal(JSON.stringify(known), knownAccountsUse)
}

/** Inverse of {@link sealKnownAccounts}. Knows no account when there is nothing that this server sealed. */
export function openKnownAccounts(sealed: string | undefined, sealer: Pick<Sealer, 'open'>): KnownAccounts {
  const opened = sealed === undefined ? undefined : sealer.open(sealed, knownAccountsUse)
  return opened === undefined ? [] : (JSON.parse(opened) as string[])
}

function accountHash(account: string, issuer: string): string {
  return hashSecret(`known account ${issuer} ${account}`)
}
