import type { Workspace } from '../session/grant.ts'
import type { Identity, SignIn } from '../session/session-provider.ts'
import { attemptPending, type SignInPorts, storePending } from './pending-sign-in.ts'
import type { SignInVisitor } from './sign-in-limit.ts'
import { keepOrSignOut } from './sign-in-orphan.ts'

const pendingTtlSeconds = 600
/** Posts of one sign-in, retries of a list that is not available among them. */
const maxPosts = 20

const pendingKind = 'workspace'

/** The workspace of a grant to be; undefined where the user has none. */
export interface WorkspaceChoice {
  workspace: Workspace | undefined
}

export interface CompletedSignIn {
  signIn: SignIn
  /** The name by which its attempts were counted; undefined if only the provider knows it. */
  account?: string | undefined
  /** Undefined: the user is still to be asked. */
  choice?: WorkspaceChoice
}

/**
 * Stores a completed sign-in until its workspace is chosen, for this browser only: ten minutes, or until its access token expires, which
 * the app's list needs. Returns its id.
 */
export async function awaitWorkspace(
  { signIn: { session, identity }, account }: CompletedSignIn,
  { binding }: Pick<SignInVisitor, 'binding'>,
  ports: SignInPorts,
): Promise<string> {
  const seconds = Math.min(pendingTtlSeconds, session.expiresAt - ports.runtime.now())
  const pending = { payload: { identity, account }, session, binding, seconds }
  return keepOrSignOut(session, ports.provider, () => storePending(pendingKind, pending, ports))
}

/** Finds a waiting sign-in, which goes on waiting. Undefined if it is unknown, expired, of another browser, or posted too often. */
export async function findAwaiting(
  id: string,
  visitor: Pick<SignInVisitor, 'binding'>,
  ports: SignInPorts,
): Promise<CompletedSignIn | undefined> {
  const attempt = { id, max: maxPosts, binding: visitor.binding }
  const found = await attemptPending(pendingKind, attempt, ports)
  if (!found) return undefined
  const { identity, account } = found.payload as { identity: Identity; account?: string }
  return { signIn: { session: found.session, identity }, account }
}
