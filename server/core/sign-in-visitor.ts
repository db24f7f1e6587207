import { type KnownAccounts, knowsAccount } from './known-accounts.ts'
import type { SignInAttempt } from './sign-in-limit.ts'
import type { BrowserBinding } from './sign-in-transaction.ts'

/** Who signs in, as far as that can be known before they have. */
export interface SignInVisitor {
  binding: BrowserBinding
  /** IP address; undefined when nobody said. */
  address: string | undefined
  knownAccounts: KnownAccounts
}

/** The attempt of `visitor` at `account`, an {@link accountOf} an email address at the provider `issuer`. */
export function attemptAt(
  account: string | undefined,
  { address, knownAccounts }: SignInVisitor,
  issuer: string,
): SignInAttempt {
  const trusted = account !== undefined && knowsAccount(knownAccounts, account, issuer)
  return { address, account, trusted }
}
