import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { CredentialError, type CredentialStore, type LoginId } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import type { PendingSignIn, SignInFlow, WantedSignIn } from '../login-port.ts'
import { hasTokens } from '../tokens/stored-tokens.ts'
import { shareSignIn } from './sign-in-share.ts'

const lockMs = 20_000
/** Longer than the user's time limit, so that the process that signs in times out first and reports it. */
const followSlackMs = 30_000

/** Dependencies of a sign-in. */
interface LoginSignInPorts {
  store: CredentialStore
  flow: SignInFlow
  runtime: Runtime
  note(text: string): void
  /** Called with the new login, whichever process signed in. */
  signedIn(credential: Credential): void
}

/** A sign-in; `finished` resolves when all of it has ended, including a cancellation. */
type BegunSignIn = PendingSignIn & { finished: Promise<void> }

/**
 * Begins a sign-in shared by all processes. `refused` is the sign-in whose tokens no longer work, so any other one
 * satisfies the request; defaults to the stored one.
 */
export function beginSignIn(
  id: LoginId,
  asked: {
    request: WantedSignIn
    refused: { signInId: string | undefined } | undefined
    timeoutMs: number
    /** The previous sign-in of this process. */
    after: Promise<void>
  },
  ports: LoginSignInPorts,
): BegunSignIn {
  const { store, runtime, note } = ports
  let before = asked.refused

  async function isDone(): Promise<boolean> {
    const stored = await readIfPossible(store, id)
    before ??= { signInId: stored.credential?.signInId }
    if (!hasTokens(stored.credential) || stored.credential.signInId === before.signInId) return false
    ports.signedIn(stored.credential)
    return true
  }

  async function save(issued: Credential): Promise<void> {
    const signInId = randomId(runtime)
    const write = async (): Promise<void> => {
      const stored = await readIfPossible(store, id)
      // The generation of an unreadable credential is unknown; no real one comes near the current time.
      const last = stored.isUnreadable ? runtime.now() : (stored.credential?.generation ?? 0)
      const credential = { ...issued, generation: last + 1, signInId }
      await store.write(id, credential)
      ports.signedIn(credential)
    }
    try {
      await store.exclusively(id, { waitMs: lockMs }, write)
    } catch (error) {
      if (!(error instanceof CredentialError && error.fault === 'busy')) throw error
      // The user has just signed in for this. The lock's owner finds new tokens and discards its own.
      await write()
    }
  }

  return shareSignIn({
    id,
    store,
    after: asked.after,
    waitMs: asked.timeoutMs + followSlackMs,
    isDone,
    async signIn(announce, signal) {
      // Do not ask the user to sign in if the login cannot be stored.
      await store.prepare()
      const { credential: previous } = await readIfPossible(store, id)
      await save(await ports.flow({ ...asked.request, previous }, announce, signal))
    },
    randomId: () => randomId(runtime),
    note,
  })
}

/** Reads the stored login. An unreadable one does not prevent a sign-in, which replaces it. */
export async function readIfPossible(
  store: CredentialStore,
  id: LoginId,
): Promise<{ credential: Credential | undefined; isUnreadable: boolean }> {
  try {
    return { credential: await store.read(id), isUnreadable: false }
  } catch (error) {
    if (!(error instanceof CredentialError)) throw error
    return { credential: undefined, isUnreadable: true }
  }
}

function randomId(runtime: Runtime): string {
  return encodeBase64url(runtime.randomBytes(16))
}
