import { hashSecret } from '../seal.ts'
import { openSessionOf, sealProviderSession } from '../session/session-seal.ts'
import type { Identity, SignIn } from '../session/session-provider.ts'
import { openPending, sealPending, type SignInPorts } from './pending-sign-in.ts'
import type { SignInVisitor } from './sign-in-limit.ts'
import { keepOrSignOut } from './sign-in-orphan.ts'

const pendingTtlSeconds = 600
/** Posts of one sign-in, retries of a list that is not available among them. */
const maxPosts = 20

const pendingKind = 'workspace'

/** A sign-in, and the name by which its attempts were counted; undefined if only the provider knows it. */
export interface CompletedSignIn {
  signIn: SignIn
  account?: string | undefined
}

interface PendingPayload {
  identity: Identity
  account: string | undefined
}

/** Stores a completed sign-in until its workspace is chosen, for ten minutes and this browser only. Returns its id. */
export async function awaitWorkspace(
  { signIn: { session, identity }, account }: CompletedSignIn,
  { binding }: Pick<SignInVisitor, 'binding'>,
  ports: SignInPorts,
): Promise<string> {
  const { runtime, sealer, store, provider } = ports
  const payload: PendingPayload = { identity, account }
  const pending = sealPending(pendingKind, payload, { binding, seconds: pendingTtlSeconds }, ports)
  const row = { grantId: pending.id, version: 1, issuedAt: runtime.now() }
  const sealed = sealProviderSession({ ...session, issuer: provider.issuer }, row, sealer)
  await keepOrSignOut(session, provider, () => store.addSecondFactor({ ...pending, session: sealed }))
  return pending.id
}

/** Finds a waiting sign-in, which goes on waiting. Undefined if it is unknown, expired, of another browser, or posted too often. */
export async function findAwaiting(
  id: string,
  { binding }: Pick<SignInVisitor, 'binding'>,
  ports: SignInPorts,
): Promise<CompletedSignIn | undefined> {
  const { store, runtime, provider, sealer } = ports
  const claim = { id, bindingHash: hashSecret(binding), max: maxPosts }
  const pending = await store.attemptSecondFactor(claim, runtime.now())
  const payload = pending && (openPending(pendingKind, pending, ports) as PendingPayload | undefined)
  const opening = pending && openSessionOf(provider.issuer, pending.session, sealer)
  if (!payload || opening?.kind !== 'opened') return undefined
  const { identity, account } = payload
  return { signIn: { session: opening.session, identity }, account }
}

/** Ends the wait of a sign-in, whose session is the caller's from then on. Returns true for exactly one caller. */
export function endAwaiting(id: string, { store, runtime }: SignInPorts): Promise<boolean> {
  return store.removeSecondFactor(id, false, runtime.now())
}
