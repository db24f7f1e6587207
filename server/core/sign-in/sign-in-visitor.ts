import { type KnownAccounts, markOfAccount } from './device-cookie.ts'
import type { SignInAttempt } from './sign-in-limit.ts'
import type { BrowserBinding } from './sign-in-transaction.ts'

/** Who signs in, as far as that can be known before they have. */
export interface SignInVisitor {
  binding: BrowserBinding
  /** IP address; undefined when nobody said. */
  address: string | undefined
  knownAccounts: KnownAccounts
}

/**
 * The attempt of `visitor` at `account`, an {@link accountOf} an email address at the provider `issuer`. In browsers that know
 * the account, each sign-in that made them know it is counted apart: whoever fails on purpose where the owner signed in
 * once, on a shared computer or with a copied cookie, takes nothing from the owner's other browsers.
 */
export function attemptAt(
  account: string | undefined,
  { address, knownAccounts }: SignInVisitor,
  issuer: string,
): SignInAttempt {
  if (account === undefined) return { address, account, trusted: knownAccounts.length > 0 }
  const mark = markOfAccount(knownAccounts, account, issuer)
  return mark === undefined
    ? { address, account, trusted: false }
    : { address, account: `${account} ${mark}`, trusted: true }
}
